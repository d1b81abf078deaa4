//! What an observation says about real states, several at a time and one by one.

use std::sync::Arc;

use super::{Allowance, Response};
use crate::chain::{Chain, Grid, StateId};
use crate::model::Model;

#[test]
fn likelihoods_are_the_kernels_whichever_states_are_asked_for() {
    let side = 13.try_into().unwrap();
    let chain = Chain::grid(Grid { width: side, height: side, seed: 5 }).unwrap();
    let model = Arc::new(Model::new(chain).unwrap());
    let weights: Vec<f64> = (0..169).map(|state| f64::from(1 + state % 5)).collect();
    for allowance in
        [Allowance::PerNat("1/3".parse().unwrap()), Allowance::PerState("3".parse().unwrap())]
    {
        let rate = allowance.rate();
        let response = Response::at_scale(&model, allowance, &weights, rate).unwrap();
        let mut found = vec![0.5; 3];
        for observed in [0, 84, 168].map(StateId::new) {
            // All states; runs of them with gaps; every third.
            for keep in [|_: usize| true, |x| x % 29 > 2, |x| x % 3 == 0] {
                let reals: Vec<StateId> = (0..169).filter(|&x| keep(x)).map(StateId::new).collect();
                response.fill_log_likelihoods(observed, &reals, &mut found);
                assert_eq!(found.len(), reals.len());
                let mut alone = Vec::new();
                let mut apart = Vec::new();
                for (&real, &log) in reals.iter().zip(&found) {
                    response.fill_log_likelihoods(observed, &[real], &mut alone);
                    assert_eq!(alone, [log], "to the last bit");
                    apart.push(log - response.log_kernel(real)[observed.index()]);
                }
                // But for a constant.
                assert!(apart.iter().all(|other| (other - apart[0]).abs() < 1e-9), "{apart:?}");
            }
        }
    }
}
