"""Pretrained weights of others in our transformer: VideoMAE V1 and V2, UMT, CLIP and DINOv2."""

from vidshift.models.weights.opening import Pretrained, open_weights
from vidshift.models.weights.options import WeightsOptions
from vidshift.models.weights.report import LeftOut, WeightsReport

__all__ = ["LeftOut", "Pretrained", "WeightsOptions", "WeightsReport", "open_weights"]
