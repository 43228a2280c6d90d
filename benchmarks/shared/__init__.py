"What several benchmarks share: measuring side by side, their charts and profiles, and simple baselines."
