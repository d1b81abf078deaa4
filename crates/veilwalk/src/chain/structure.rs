//! What the graph of a chain looks like: its strongly connected parts and its period.

use super::StateId;

/// Transitions reversed: for each state, the states that can move to it.
fn reversed(row_starts: &[usize], targets: &[StateId]) -> (Vec<usize>, Vec<StateId>) {
    let states = row_starts.len() - 1;
    let mut starts = vec![0; states + 1];
    for target in targets {
        starts[target.index() + 1] += 1;
    }
    for i in 0..states {
        starts[i + 1] += starts[i];
    }
    let mut next = starts.clone();
    let mut sources = vec![StateId::new(0); targets.len()];
    for from in 0..states {
        for target in &targets[row_starts[from]..row_starts[from + 1]] {
            let place = &mut next[target.index()];
            sources[*place] = StateId::new(from);
            *place += 1;
        }
    }
    (starts, sources)
}

/// Which states can be reached from state zero.
fn reached_from_first(row_starts: &[usize], targets: &[StateId]) -> Vec<bool> {
    let mut seen = vec![false; row_starts.len() - 1];
    let mut open = vec![0usize];
    seen[0] = true;
    while let Some(state) = open.pop() {
        for next in &targets[row_starts[state]..row_starts[state + 1]] {
            if !std::mem::replace(&mut seen[next.index()], true) {
                open.push(next.index());
            }
        }
    }
    seen
}

/// A pair (from, to) such that `to` cannot be reached from `from`; `None` if irreducible.
pub(super) fn unreachable_pair(
    row_starts: &[usize],
    targets: &[StateId],
) -> Option<(StateId, StateId)> {
    let forward = reached_from_first(row_starts, targets);
    if let Some(lost) = forward.iter().position(|&seen| !seen) {
        return Some((StateId::new(0), StateId::new(lost)));
    }
    let (starts, sources) = reversed(row_starts, targets);
    let backward = reached_from_first(&starts, &sources);
    backward.iter().position(|&seen| !seen).map(|stuck| (StateId::new(stuck), StateId::new(0)))
}

/// Marks the states of the largest strongly connected part (of equally large ones, the one with
/// the first state). Kosaraju's two passes, without recursion.
pub(super) fn largest_component(row_starts: &[usize], targets: &[StateId]) -> Vec<bool> {
    let states = row_starts.len() - 1;
    let finished = finishing_order(row_starts, targets);
    let (starts, sources) = reversed(row_starts, targets);
    let mut component = vec![usize::MAX; states];
    let mut sizes: Vec<(usize, usize)> = Vec::new(); // (size, first state)
    for &root in finished.iter().rev() {
        if component[root] != usize::MAX {
            continue;
        }
        let id = sizes.len();
        let (mut size, mut first) = (0, root);
        let mut open = vec![root];
        component[root] = id;
        while let Some(state) = open.pop() {
            size += 1;
            first = first.min(state);
            for source in &sources[starts[state]..starts[state + 1]] {
                if component[source.index()] == usize::MAX {
                    component[source.index()] = id;
                    open.push(source.index());
                }
            }
        }
        sizes.push((size, first));
    }
    let best = (0..sizes.len()).max_by_key(|&id| (sizes[id].0, std::cmp::Reverse(sizes[id].1)));
    component.into_iter().map(|id| Some(id) == best).collect()
}

/// States in the order in which a depth-first search leaves them.
fn finishing_order(row_starts: &[usize], targets: &[StateId]) -> Vec<usize> {
    let states = row_starts.len() - 1;
    let mut seen = vec![false; states];
    let mut order = Vec::with_capacity(states);
    for root in 0..states {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut path = vec![(root, row_starts[root])];
        while let Some((state, next)) = path.last_mut() {
            if *next == row_starts[*state + 1] {
                order.push(*state);
                path.pop();
                continue;
            }
            let target = targets[*next].index();
            *next += 1;
            if !std::mem::replace(&mut seen[target], true) {
                path.push((target, row_starts[target]));
            }
        }
    }
    order
}

/// The period of an irreducible chain: the greatest common divisor of all cycle lengths, read off
/// the levels of a breadth-first search.
pub(super) fn period(row_starts: &[usize], targets: &[StateId]) -> usize {
    let states = row_starts.len() - 1;
    let mut level = vec![usize::MAX; states];
    let mut queue = std::collections::VecDeque::from([0usize]);
    level[0] = 0;
    let mut period = 0usize;
    while let Some(state) = queue.pop_front() {
        for target in &targets[row_starts[state]..row_starts[state + 1]] {
            let target = target.index();
            if level[target] == usize::MAX {
                level[target] = level[state] + 1;
                queue.push_back(target);
            } else {
                period = gcd(period, (level[state] + 1).abs_diff(level[target]));
            }
        }
    }
    period.max(1)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(lists: &[Vec<usize>]) -> (Vec<usize>, Vec<StateId>) {
        let mut starts = vec![0];
        let mut targets = Vec::new();
        for list in lists {
            targets.extend(list.iter().map(|&t| StateId::new(t)));
            starts.push(targets.len());
        }
        (starts, targets)
    }

    #[test]
    fn periods_of_cycles() {
        let (s, t) = rows(&[vec![1], vec![2], vec![0]]);
        assert_eq!(period(&s, &t), 3);
        let (s, t) = rows(&[vec![1], vec![2], vec![0, 1]]);
        assert_eq!(period(&s, &t), 1);
        let (s, t) = rows(&[vec![0]]);
        assert_eq!(period(&s, &t), 1);
    }

    /// Reachability by repeated squaring of the relation: slow and obvious.
    fn reaches(lists: &[Vec<usize>]) -> Vec<Vec<bool>> {
        let n = lists.len();
        let mut r = vec![vec![false; n]; n];
        for (i, list) in lists.iter().enumerate() {
            r[i][i] = true;
            list.iter().for_each(|&j| r[i][j] = true);
        }
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    r[i][j] |= r[i][k] && r[k][j];
                }
            }
        }
        r
    }

    proptest! {
        #[test]
        fn components_agree_with_reachability(
            lists in proptest::collection::vec(proptest::collection::vec(0usize..9, 0..4), 9)
        ) {
            let (s, t) = rows(&lists);
            let r = reaches(&lists);
            let class = |i: usize| (0..9).filter(|&j| r[i][j] && r[j][i]).collect::<Vec<_>>();
            let largest = (0..9).map(|i| class(i).len()).max().unwrap();
            let first = (0..9).find(|&i| class(i).len() == largest).unwrap();
            let expected: Vec<bool> = (0..9).map(|j| class(first).contains(&j)).collect();
            prop_assert_eq!(largest_component(&s, &t), expected);
            let pair = unreachable_pair(&s, &t);
            prop_assert_eq!(pair.is_none(), r.iter().flatten().all(|&x| x));
            if let Some((from, to)) = pair {
                prop_assert!(!r[from.index()][to.index()]);
            }
        }
    }
}
