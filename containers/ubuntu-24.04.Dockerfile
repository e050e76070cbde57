# Builds sluice and runs its tests on a bare Ubuntu 24.04. In the root of the tree:
#   docker build -f containers/ubuntu-24.04.Dockerfile -t sluice .
#   docker run --rm sluice build/release/bin/sluice info --system
FROM ubuntu:24.04
WORKDIR /checkout
COPY scripts/lib.sh scripts/lib.sh
# The packages have layers of their own, so that a change of the sources does not download them again.
RUN bash -euc '. scripts/lib.sh; ensure_packages "$packages_to_build$packages_for_python$packages_to_build_tests"'
RUN bash -euc '. scripts/lib.sh; optional=1 ensure_packages "$packages_to_test"'
COPY . .
RUN scripts/test --quick
CMD ["bash"]
