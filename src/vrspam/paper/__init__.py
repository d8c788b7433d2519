"""Dan & Sahoo (AISTATS 2021), Variance Reduced Stochastic Proximal Algorithm for AUC Maximization: where each part is.

Read `examples/nano_vrspam.py` first: Algorithm 1 with both penalties, the exact optimum and the certificate in 200
lines of NumPy. docs/theory.md has the paper's symbols, derivations and errata; docs/reproduce.md the experiments.

| in the paper | here |
|---|---|
| section 2: the objective f + Ω, both penalties | `vrspam.objective` |
| section 2: a, b, ζ and the stochastic gradient G | `vrspam.solvers.row_gradients` |
| section 3: Algorithm 1, VRSPAM | `vrspam.solvers.vrspam`, the variant "paper" of `VRSPAMClassifier` |
| SPAM, the start of VRSPAM; SOLAM and OPAUC | `vrspam.solvers.online` |
| section 4: lemmas, Theorem 1, complexity; SPAM's rate | `rates.py`: formulas, and those of a data set |
| section 5: data, splits, grids, parameters | `protocol.py`, with its values in `paper.toml` |
| section 5: one run: choose penalties, tune, train, test | `tasks.py` |
| section 5: all runs in parallel, and their results | `run.py` |
| Table 1: test AUC | `publish.py`; `paper.toml` has the paper's cells |
| the figures: variance, convergence | `figures.py`, which adds Theorem 1 |

`vrspam reproduce` goes through `protocol`, `run`, `tasks`, `publish` and `figures` in this order; `vrspam theory`
calls `rates.describe`. Import the formulas from `vrspam.theory`, and the experiments from `vrspam.experiments`.
"""
