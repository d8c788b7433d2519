"""Penalties: the part Ω of F = f + Ω, as named tuples of numbers that Python and compiled code both take.

A penalty is a sum over coordinates, except `Shaped` (curves that must rise or fall). Python uses the methods of
`Penalty`; compiled loops use its prox of one number, which `vrspam.kernels.register_prox` adds to `prox1` there.
"""
