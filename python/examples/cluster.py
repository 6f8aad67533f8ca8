# %% [markdown]
# # Several processes
#
# Dask deals windows to workers, each of which opens the design by its path, with one thread. The same surface has the same
# name everywhere, so that nothing is computed twice.

# %%
import numpy as np
from distributed import Client, LocalCluster

import relief_surfaces as relief


def main() -> None:
    sheet = relief.open("../../examples/sheet/design.kdl", threads=1)
    region = np.s_[900_000:901_000, 1_500_000:1_502_000]
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        marked = (sheet.dask(region, chunks=500) > 0).sum().compute()
    print(marked, "of", 1_000 * 2_000, "pixels are marked")
    assert marked == np.count_nonzero(sheet[region])


if __name__ == "__main__":
    main()
