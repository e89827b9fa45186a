"""Releases at which a quantity changed its meaning, as data: what is logged, counted or computed by default.

Two sides of one meaning compare whatever their versions are; two of different meanings log or train something else.
Where a change acts only in programs that leave an option unset, it lowers what is guaranteed and the version rules say
what is expected; its cause is then that of the version rule.
"""

from __future__ import annotations

from typing import NamedTuple

from ..levels import Level


class Change(NamedTuple):
    """One quantity of ``package``: ``meanings`` has one entry more than ``releases``, in their order.

    ``package`` is a distribution, or a framework of the document where ``framework`` is set. Equal meanings compare.
    """

    id: str
    package: str
    releases: tuple[str, ...]
    meanings: tuple[str, ...]
    source: str
    remedy: str
    expected: Level = Level.BITWISE
    guaranteed: Level = Level.NONE
    cause: str = "framework_default_change"
    framework: bool = False


_NONE, _STATISTICAL = Level.NONE, Level.STATISTICAL
_EXPLICIT = "set the option explicitly on both sides, or use releases on one side of the change"

CHANGES: tuple[Change, ...] = (
    Change("transformers-loss", "transformers", ("4.46", "4.48"),
           ("the loss is a mean", "the loss is summed over accumulation steps", "the loss is a mean"),
           "transformers issues 35556, 37766; transformers pull request 35207",
           "use releases before 4.46 or from 4.48 on; with one forward pass a step (accumulation=1) sum and mean are "
           "one number, and the policy may waive this with that reason", _NONE, cause="framework_version"),
    Change("transformers-token-mean", "transformers", ("4.46",),
           ("each pass of a step weighs the same", "each token of a step weighs the same"),
           "transformers pull request 34191", "use releases on one side of 4.46", cause="framework_version"),
    Change("flash-attn-causal", "flash-attn", ("2.1",),
           ("causal masks are aligned top left", "causal masks are aligned bottom right"),
           "flash-attention changelog, 2.1", "use releases on one side of 2.1", cause="package_version"),
    Change("torchvision-antialias", "torchvision", ("0.17",),
           ("tensors are resized without antialiasing by default", "tensors are resized with antialiasing by default"),
           "torchvision 0.17 release notes; torchvision issue 2950", _EXPLICIT, cause="preprocessing_library"),
    Change("pillow-resize", "pillow", ("7.0",),
           ("Image.resize takes the nearest pixel by default", "Image.resize interpolates bicubic by default"),
           "Pillow 7.0.0 release notes", _EXPLICIT, cause="preprocessing_library"),
    Change("librosa-resample", "librosa", ("0.10",),
           ("audio is resampled by kaiser_best by default", "audio is resampled by soxr_hq by default"),
           "librosa changelog, 0.10.0", _EXPLICIT, cause="preprocessing_library"),
    Change("xgboost-metric", "xgboost", ("1.3",),
           ("classifiers log the error by default", "classifiers log the log loss by default"),
           "XGBoost 1.3.0 release notes", _EXPLICIT, cause="package_version"),
    Change("xgboost-tree-method", "xgboost", ("2.0",),
           ("the CPU takes exact or approximate splits by default", "splits come from histograms by default"),
           "XGBoost 2.0 release notes; xgboost issue 9417", _EXPLICIT, _STATISTICAL),
    Change("torch-scheduler-order", "torch", ("1.1",),
           ("schedulers step before the optimizer", "schedulers step after the optimizer"),
           "PyTorch 1.1 release notes", "use releases on one side of 1.1", cause="torch_version", framework=True),
    Change("torch-grid-sample", "torch", ("1.3",),
           ("grid_sample aligns corners by default", "grid_sample does not align corners by default"),
           "PyTorch 1.3 release notes", _EXPLICIT, cause="torch_version", framework=True),
    Change("torch-floor-divide", "torch", ("1.13",),
           ("floor_divide rounds to zero", "floor_divide rounds down"), "PyTorch 1.13 release notes",
           "use torch.div with rounding_mode", cause="torch_version", framework=True),
    Change("scikit-learn-0.22", "scikit_learn", ("0.22",),
           ("3 folds, 10 trees, liblinear", "5 folds, 100 trees, lbfgs"), "scikit-learn 0.22 changelog", _EXPLICIT,
           _STATISTICAL, framework=True),
    Change("scikit-learn-kmeans", "scikit_learn", ("1.4",),
           ("KMeans starts 10 times by default", "KMeans with k-means++ starts once by default"),
           "scikit-learn 1.4 changelog", _EXPLICIT, cause="framework_version", framework=True),
    Change("keras-optimizers", "tensorflow", ("2.11",),
           ("the older Keras optimizers by default", "the newer Keras optimizers by default"),
           "TensorFlow 2.11 release notes", _EXPLICIT, cause="framework_version", framework=True),
    Change("keras-3", "tensorflow", ("2.16",), ("tf.keras is Keras 2", "tf.keras is Keras 3"),
           "TensorFlow 2.16 release notes", "export TF_USE_LEGACY_KERAS=1 with tf-keras installed", _STATISTICAL,
           framework=True),
    Change("numpy-binomial", "numpy", ("2.5",),
           ("Generator.binomial draws the older stream", "Generator.binomial draws the corrected stream"),
           "NumPy 2.5.0 release notes", "use releases on one side of 2.5", guaranteed=_STATISTICAL,
           cause="framework_version", framework=True),
)
