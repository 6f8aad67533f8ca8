"""GPUs: the same samples as the processor, and one for each worker."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np
import pytest
from conftest import requires

import relief_surfaces as relief
from relief_surfaces import _native

DESIGNS = {
    "noise": "canvas width=700 height=500 bits=8\nnoise seed=5",
    "gauss": "canvas width=400 height=300 bits=16\ngauss sigma=6 { (source)noise seed=3 }",
    "repeat": "canvas width=900 height=400\nrepeat step-x=50 step-y=45 { (pattern)disc diameter=40 value=200 }",
    "compose": "canvas width=500 height=400\ncompose { (base)ramp axis=\"x\" from=0 to=255; (max)disc diameter=90 value=99 x=20 y=30 }",
}


@pytest.fixture(scope="module")
def device() -> str:
    """`RELIEF_TEST_DEVICE`, or software Vulkan. It has to be there where `RELIEF_REQUIRE_GPU` is set and the package knows devices."""
    if not _native.GPU:
        pytest.skip("the package was built without devices")
    asked = os.environ.get("RELIEF_TEST_DEVICE", "vulkan:0")
    if asked not in {one.id for one in relief.devices()} and not os.environ.get("RELIEF_REQUIRE_GPU"):
        pytest.skip(f"there is no {asked}")
    return asked


def digest(samples: np.ndarray[Any, Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(samples).tobytes()).hexdigest()


@pytest.mark.parametrize("name", DESIGNS)
def test_a_device_computes_the_samples_of_the_processor(device: str, name: str) -> None:
    text = f"relief version=1\n{DESIGNS[name]}"
    here, there = relief.parse(text, device="cpu"), relief.parse(text, device=device, device_memory="256MiB")
    assert there.plan().as_dict()["devices"]["ids"] == [device]
    assert here.plan().as_dict()["devices"] is None
    assert there.digest == here.digest
    whole = here[...]
    assert digest(there[...]) == digest(whole)
    assert digest(there[7:93, 11:300]) == digest(whole[7:93, 11:300])
    out = np.zeros_like(whole)
    assert digest(there.render(out=out)) == digest(whole)


def test_too_little_memory_of_a_device_is_refused(device: str) -> None:
    with pytest.raises(relief.DeviceError, match="memory|bytes|KiB"):
        relief.parse(f"relief version=1\n{DESIGNS['gauss']}", device=device, device_memory=1_000)


@pytest.mark.parametrize("name", ["cuda:99", "gpu", "vulkan:99"])
def test_a_device_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(relief.OptionError, match="device"):
        relief.parse("relief version=1\ncanvas width=2 height=1\nfill value=7", device=name)


def _seen(surface: relief.Surface) -> tuple[str, int, str]:
    return os.environ["CUDA_VISIBLE_DEVICES"], os.getpid(), digest(surface[:64])


def test_each_worker_has_a_device_of_its_own() -> None:
    """The workers of the page. No GPU has to be there: what a driver shows to a process it decides by its environment alone."""
    distributed = requires("distributed")
    # A driver without a GPU takes what is there.
    name = os.environ.get("RELIEF_TEST_DEVICE", "vulkan:0") if _native.GPU and os.environ.get("RELIEF_REQUIRE_GPU") else "auto"
    workers = {
        gpu: {"cls": distributed.Nanny, "options": {"nthreads": 1, "env": {"CUDA_VISIBLE_DEVICES": str(gpu)}}}
        for gpu in range(2)
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard_address": None}}
    text = f"relief version=1\n{DESIGNS['gauss']}"
    whole = relief.parse(text, device="cpu")[...]
    surface = relief.parse(text, device=name)
    with distributed.SpecCluster(workers=workers, scheduler=scheduler) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        seen = client.run(_seen, surface)
        assert {gpu for gpu, _, _ in seen.values()} == {"0", "1"}
        assert len({process for _, process, _ in seen.values()} | {os.getpid()}) == 3
        assert {found for _, _, found in seen.values()} == {digest(whole[:64])}
        np.testing.assert_array_equal(surface.dask(chunks=100).compute(scheduler=client), whole)
