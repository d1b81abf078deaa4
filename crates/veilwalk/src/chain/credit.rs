//! The credit-rating chain: yearly moves of US obligors between Moody's ratings.
//!
//! Figures: Nickell, Perraudin and Varotto (2000), table 3, with a probability of 10⁻⁴ that a firm
//! recovers from default, which makes the chain irreducible. As printed, four rows sum to 0.999 or
//! 1.001; here they are divided by their sums.

use super::{BuildOptions, BuildReport, Chain, ChainBuilder, Entries, RowSums};

const RATINGS: [&str; 9] = ["Aaa", "Aa", "A", "Baa", "Ba", "B", "Caa", "Ca/C", "Def"];

const MOVES: [[f64; 9]; 9] = [
    [0.919, 0.069, 0.011, 0.0, 0.001, 0.0, 0.0, 0.0, 0.0],
    [0.012, 0.893, 0.088, 0.005, 0.002, 0.0, 0.0, 0.0, 0.0],
    [0.001, 0.023, 0.920, 0.049, 0.006, 0.002, 0.0, 0.0, 0.0],
    [0.0, 0.002, 0.055, 0.889, 0.045, 0.006, 0.001, 0.0, 0.001],
    [0.0, 0.001, 0.005, 0.054, 0.855, 0.069, 0.003, 0.0, 0.014],
    [0.0, 0.001, 0.002, 0.007, 0.065, 0.829, 0.019, 0.005, 0.072],
    [0.0, 0.0, 0.0, 0.010, 0.025, 0.076, 0.673, 0.035, 0.181],
    [0.0, 0.0, 0.0, 0.0, 0.010, 0.057, 0.143, 0.581, 0.210],
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0001, 0.9999],
];

impl Chain {
    /// The built-in credit-rating chain: nine ratings from `Aaa` to `Def`.
    #[must_use]
    pub fn credit() -> Self {
        Self::credit_with_report().0
    }

    /// The same, with the rows that had to be divided by their sums.
    #[must_use]
    pub fn credit_with_report() -> (Self, BuildReport) {
        let mut builder = ChainBuilder::new(Entries::Probabilities);
        let ratings = RATINGS.map(|label| builder.state(label));
        for (from, row) in ratings.iter().zip(&MOVES) {
            for (to, &p) in ratings.iter().zip(row) {
                builder.transition(*from, *to, p).expect("the table's entries are probabilities");
            }
        }
        let options = BuildOptions { row_sums: RowSums::Normalize, ..Default::default() };
        builder.build(options).expect("the table is an irreducible chain")
    }
}
