//! A chain that is easy to picture, for measurements.

use veilwalk::Chain;
use veilwalk::chain::{ChainBuilder, Entries};

/// Streets of 20 by 25 crossings, both ways, some busier than others, with waiting.
pub(crate) fn grid() -> Chain {
    const WIDTH: usize = 25;
    const HEIGHT: usize = 20;
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids: Vec<_> = (0..WIDTH * HEIGHT).map(|i| builder.state(&i.to_string())).collect();
    for (i, &id) in ids.iter().enumerate() {
        let (column, row) = (i % WIDTH, i / WIDTH);
        let mut add = |there: bool, to: usize, count: usize| {
            if there {
                builder.transition(id, ids[to], count as f64).expect("a count");
            }
        };
        add(true, i, 2);
        add(column > 0, i.wrapping_sub(1), 3 + row % 4);
        add(column + 1 < WIDTH, i + 1, 4 + row % 3);
        add(row > 0, i.wrapping_sub(WIDTH), 3 + column % 5);
        add(row + 1 < HEIGHT, i + WIDTH, 2 + column % 7);
    }
    builder.build(Default::default()).expect("a chain").0
}
