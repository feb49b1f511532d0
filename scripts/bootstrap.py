"""Build `.venv` with what a make target needs, once; a second time only looks at the stamp.

    python3 scripts/bootstrap.py demo|dev

Runs on any Python 3.6 or newer: if it is not one that the package supports, it looks for one that is.
Two of these at the same time wait for each other.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
LOWEST, BELOW = (3, 11), (3, 14)
# The larger set first: it serves the smaller one too.
SETS = {"dev": "the checks, the tests and the proofs", "demo": "the demo"}


def supported(version):
    return LOWEST <= tuple(version[:2]) < BELOW


def find_interpreter():
    """A supported Python on the path that really starts (a version manager's shim may not)."""
    for name in ("python3.13", "python3.12", "python3.11", "python3", "python"):
        path = shutil.which(name)
        if path is None:
            continue
        ask = "import sys; print(sys.version_info[0], sys.version_info[1])"
        done = subprocess.run([path, "-c", ask], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode == 0 and supported([int(part) for part in done.stdout.split()]):
            return path
    return None


def use_supported_interpreter():
    """Return only on a supported Python; otherwise start again under one, or end with a sentence."""
    if supported(sys.version_info):
        return
    path = find_interpreter()
    if path is None:
        sys.exit(
            "ascertain needs Python 3.11, 3.12 or 3.13; `{}` is {}.{} and no other was found.\n"
            "Install one, or name it: make PYTHON=/path/to/python3.12 ...".format(
                sys.executable, *sys.version_info[:2]
            )
        )
    print("Python {}.{} is too old or too new; using {}".format(*sys.version_info[:2], path))
    sys.stdout.flush()
    os.execv(path, [path, os.path.abspath(__file__)] + sys.argv[1:])


def venv_python():
    return os.path.join(VENV, "bin", "python")


def stamp_path(wanted):
    return os.path.join(VENV, ".stamp-" + wanted)


def stamp_text():
    """What an install depends on: the project file and the Python that it was made for."""
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as project:
        digest = hashlib.sha256(project.read()).hexdigest()
    return "{}\npython {}.{}\n".format(digest, *sys.version_info[:2])


def read(path):
    try:
        with open(path) as stamp:
            return stamp.read()
    except FileNotFoundError:
        return None


def serves(wanted):
    """The stamps that are good enough for `wanted`."""
    return ["dev"] if wanted == "dev" else ["dev", wanted]


def is_current(wanted):
    now = stamp_text()
    return any(read(stamp_path(name)) == now for name in serves(wanted))


def venv_is_usable():
    """It exists, starts, and is of the Python that we were asked to use."""
    if not os.path.exists(venv_python()):
        return False
    ask = "import sys; print(sys.version_info[0], sys.version_info[1])"
    try:
        done = subprocess.run([venv_python(), "-c", ask], stdout=subprocess.PIPE)
    except OSError:
        return False
    return done.returncode == 0 and tuple(map(int, done.stdout.split())) == sys.version_info[:2]


def run(command, advice):
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit("\n{}\n(exit code {}: {})".format(advice, done.returncode, " ".join(command)))


def build(wanted):
    started = time.time()
    if not venv_is_usable():
        print("Making .venv with {} ({}.{}.{})".format(sys.executable, *sys.version_info[:3]))
        sys.stdout.flush()
        run(
            [sys.executable, "-m", "venv", "--clear", VENV],
            "The virtual environment could not be made. On Debian and Ubuntu: "
            "apt-get install python3-venv",
        )
    print("Installing what {} need(s) into .venv: a minute or two, once".format(SETS[wanted]))
    sys.stdout.flush()
    pip = [venv_python(), "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet"]
    run(
        pip + ["install", "--editable", ".[{}]".format(wanted)],
        "The packages could not be installed. Is the Python package registry within reach?",
    )
    with open(stamp_path(wanted), "w") as stamp:
        stamp.write(stamp_text())
    print("Ready after {:.0f} s".format(time.time() - started))


def main(arguments):
    if len(arguments) != 1 or arguments[0] not in SETS:
        sys.exit(__doc__)
    wanted = arguments[0]
    use_supported_interpreter()
    import fcntl

    with open(VENV + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_current(wanted) and venv_is_usable():
            for name in serves(wanted):
                if os.path.exists(stamp_path(name)):
                    os.utime(stamp_path(name))
        else:
            build(wanted)


if __name__ == "__main__":
    main(sys.argv[1:])
