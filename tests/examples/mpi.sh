#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# mpi.sh ROOT CC: the examples are configured where an MPI is whole, and also where it is half installed: without the
# one that needs it, which is said.
set -eu
root=$1 cc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# An MPI that is just enough for CMake: `mpicc` says where it is, else it is the compiler. By its own name, so that the
# linker does not find the machine's.
mkdir -p "$work/bin" "$work/include" "$work/lib" "$work/project"
cat > "$work/include/mpi.h" <<'END'
#define MPI_VERSION 4
#define MPI_SUBVERSION 0
int MPI_Init(int *count, char ***arguments);
int MPI_Finalize(void);
END
echo 'int MPI_Init(int *c, char ***a) { return c == 0 && a == 0; } int MPI_Finalize(void) { return 0; }' > "$work/mpi.c"
"$cc" -shared -fPIC -o "$work/lib/libmpi_stub.so" "$work/mpi.c"
echo 'exit 0' > "$work/bin/mpiexec"
cat > "$work/bin/mpicc" <<END
#!/bin/sh
case \$* in
*showme:compile*) echo "-I$work/include \$MORE" ;;
*showme:link*) echo "-L$work/lib -lmpi_stub" ;;
*showme*) echo "$cc -I$work/include \$MORE -L$work/lib -lmpi_stub" ;;
*) exec $cc "\$@" ;;
esac
END
chmod +x "$work/bin/mpicc" "$work/bin/mpiexec"

cat > "$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(examples_only LANGUAGES C)
list(APPEND CMAKE_MODULE_PATH $root/cmake)
add_library(sluice INTERFACE)
add_library(sluice::sluice ALIAS sluice)
function(sluice_compile_options target)
endfunction()
add_subdirectory($root/examples examples)
END

# configure NAME EXPECTED FLAGS [SAY]: EXPECTED: 1 if the example is built; SAY: 1 if a message reports that it is not.
configure() {
    local name=$1 expected=$2 say=${4-$((1 - $2))}
    # Nor is the machine's own MPI found, by pkg-config.
    if ! MORE=$3 PKG_CONFIG_LIBDIR=$work PATH=$work/bin:$PATH cmake -S "$work/project" -B "$work/$name" -G Ninja \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF > "$work/$name.log" 2>&1; then
        echo "$name: configuring failed"
        cat "$work/$name.log"
        exit 1
    fi
    local built=0 told=0
    grep -q mpi_training "$work/$name/build.ninja" && built=1
    told=$(grep -c 'There is an MPI, but .* the example mpi_training is left out' "$work/$name.log") || true
    if [ "$built $told" != "$expected $say" ]; then
        echo "$name: built $built, told $told times"
        cat "$work/$name.log"
        exit 1
    fi
}

configure whole 1 ''
configure missing_folder 0 "-I$work/is-not-there"
# Byte 18 is the machine that a library is for.
printf '\377' | dd of="$work/lib/libmpi_stub.so" bs=1 seek=18 conv=notrunc status=none
configure another_machine 0 ''
# What openmpi-bin has without libopenmpi-dev: a compiler that finds nothing of its own, or none at all.
printf '#!/bin/sh\necho "cannot open configuration file" >&2\nexit 1\n' > "$work/bin/mpicc"
configure broken 0 ''
mkdir "$work/tools"
ln -s /usr/bin/* "$work/tools/"
rm -f "$work"/tools/mpi* "$work/bin/mpicc"
PATH=$work/tools configure launcher_only 0 '' 0
