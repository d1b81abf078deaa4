//! Where the numbers of a table are: in memory of our own, or in someone else's, such as a file that
//! is mapped. Whoever reads the table does not notice.

use std::ops::Deref;
use std::sync::Arc;

/// A run of numbers, owned or shared.
pub enum Storage<T: 'static> {
    /// In memory of our own.
    Owned(Vec<T>),
    /// Elsewhere. It has to give the same numbers each time it is asked.
    Shared(Arc<dyn AsRef<[T]> + Send + Sync>),
}

impl<T> Deref for Storage<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Owned(numbers) => numbers,
            Self::Shared(elsewhere) => (**elsewhere).as_ref(),
        }
    }
}

impl<T> From<Vec<T>> for Storage<T> {
    fn from(numbers: Vec<T>) -> Self {
        Self::Owned(numbers)
    }
}

impl<T: Clone> Clone for Storage<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Owned(numbers) => Self::Owned(numbers.clone()),
            Self::Shared(elsewhere) => Self::Shared(elsewhere.clone()),
        }
    }
}

impl<T: PartialEq> PartialEq for Storage<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Storage<T> {}

impl<T> std::fmt::Debug for Storage<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self {
            Self::Owned(_) => "Owned",
            Self::Shared(_) => "Shared",
        };
        write!(f, "{kind}({} numbers)", self.len())
    }
}
