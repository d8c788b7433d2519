"""Constants and rates of Dan & Sahoo (2021): as printed there, corrected, and sharpened.

All rates depend on the data through one number, here called `noise`: twice a bound on the mean square of the
Lipschitz constants L_i of the stochastic gradients. The paper uses 128 M⁴ (`noise_printed`, from L_i ≤ 8M²);
32 M⁴ p(1-p) is valid too (`noise_bound`), and so is the value computed from the rows themselves (`noise_rows`).

One inner step multiplies the squared distance e to the optimum by C, and adds D times the squared distance ẽ of the
anchor:

    e_{t+1} ≤ C e_t + D ẽ,   C = (1 + noise·η²)/(1 + η l2)²,   D = noise·η²/(1 + η l2)²

docs/theory.md derives each formula and numbers the errata of the paper.

References
----------
Dan & Sahoo (2021), Variance Reduced Stochastic Proximal Algorithm for AUC Maximization, AISTATS.
Natole, Ying & Lyu (2018), Stochastic Proximal Algorithms for AUC Maximization, ICML.
"""

# ruff: noqa: F401 (all that is imported is for others)
from vrspam.paper.rates import (
    Description,
    contraction,
    contraction_limit,
    contraction_printed,
    describe,
    epochs,
    gradient_evaluations,
    gradient_variance,
    gradient_variance_bound,
    inner_steps,
    lipschitz_bound,
    lipschitz_printed,
    lipschitz_rows,
    noise_bound,
    noise_printed,
    noise_rows,
    solution_bound,
    spam_constant,
    spam_log_iterations,
    spam_log_start_error,
    spam_log_start_error_printed,
    spam_rate,
    spam_start,
    spam_step,
    step_bound,
    step_constants,
    variance_bounds,
)

__all__ = [name for name in dir() if not name.startswith("_")]
