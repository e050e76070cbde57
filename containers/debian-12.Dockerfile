# Builds sluice and runs its tests on a bare Debian 12. In the root of the tree:
#   docker build -f containers/debian-12.Dockerfile -t sluice .
#   docker run --rm sluice build/release/bin/sluice info --system
FROM debian:12
WORKDIR /checkout
COPY scripts/lib.sh scripts/lib.sh
# The packages have layers of their own, so that a change of the sources does not download them again.
RUN bash -euc '. scripts/lib.sh; ensure_packages "$packages_to_build$packages_for_python$packages_to_build_tests"'
RUN bash -euc '. scripts/lib.sh; optional=1 ensure_packages "$packages_to_test"'
COPY . .
RUN scripts/test --quick
CMD ["bash"]
