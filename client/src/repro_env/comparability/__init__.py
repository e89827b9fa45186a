"""Judging: two documents in, one verdict out. Pure functions, standard library only.

The path: ``reading.Facts`` (a document as rules read it) → ``vector.project`` (one entry a rule) →
``judge.judge_vectors`` (three ends, reasons) → ``verdict.Verdict``. Class keys are folded from the same vectors.
"""
