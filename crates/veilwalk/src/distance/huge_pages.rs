//! Memory in pages of two megabytes.
//!
//! Whoever reads here and there in some dozen megabytes waits not only for the numbers but, before
//! that, for where their page is. With pages five hundred times as large the processor knows that by
//! heart. Linux gives them to those who ask; elsewhere nothing is done.

/// The size of a large page.
const PAGE: usize = 1 << 21;

/// Beyond this, nothing is asked for: a large page is handed out as a whole, however little of it is
/// written, and so this is the most memory that can be lost by it.
const MOST: usize = 1 << 26;

/// Asks for large pages wherever this memory covers them. It takes effect for what is written later,
/// and changes nothing but time.
pub(super) fn ask<T>(memory: &[T]) {
    let start = memory.as_ptr() as usize;
    if let Some((before, length)) = covered(start, size_of_val(memory)) {
        advise(memory, before, length);
    }
}

/// The large pages within this memory: where they begin, counted from its start, and their length.
fn covered(start: usize, length: usize) -> Option<(usize, usize)> {
    let before = start.next_multiple_of(PAGE) - start;
    let whole = length.checked_sub(before)? / PAGE * PAGE;
    (whole > 0 && length <= MOST).then_some((before, whole))
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "the one call by which the system is asked")]
fn advise<T>(memory: &[T], before: usize, length: usize) {
    assert!(before + length <= size_of_val(memory), "only what is ours");
    // SAFETY: the addresses are within `memory`. This advice moves nothing that can be seen: the system
    // may put the same bytes into other pages. If it does not take the advice, all is as before.
    unsafe {
        let first = memory.as_ptr().cast::<u8>().add(before);
        libc::madvise(first.cast_mut().cast(), length, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &[T], _: usize, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pages_within_the_memory() {
        assert_eq!(covered(PAGE, PAGE), Some((0, PAGE)));
        assert_eq!(covered(PAGE, 3 * PAGE - 1), Some((0, 2 * PAGE)));
        assert_eq!(covered(PAGE + 1, 3 * PAGE), Some((PAGE - 1, 2 * PAGE)));
        assert_eq!(covered(PAGE + 1, PAGE), None);
        assert_eq!(covered(PAGE, 100), None);
        assert_eq!(covered(PAGE, MOST + 1), None);
    }

    #[test]
    fn what_was_written_stays() {
        let memory: Vec<u64> = (0..1 << 20).collect();
        ask(&memory);
        assert!(memory.iter().copied().eq(0..1 << 20));
    }
}
