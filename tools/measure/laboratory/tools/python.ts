/** Tools for Python. */
import {
  BASIC,
  BEFORE_16_7,
  HOOKS,
  LAST_ATTEMPT_ONLY,
  planted,
  SAME_NAME,
  type Tool,
  WITH_RETRIES,
  WITHOUT_RETRIES,
} from "./tool.ts";

export const PYTHON: Record<string, Tool> = {
  pytest: {
    debian: ["python3-pytest", "python3-pytest-xdist"],
    runs: {
      plain: {
        command: "$PYTEST -p no:rerunfailures -p no:flaky --junitxml=report.xml test_cart.py",
        truth: { ...WITHOUT_RETRIES, "fails then passes": "failing", ...HOOKS },
      },
      maxfail: {
        command: "$PYTEST --maxfail=1 --junitxml=report.xml test_cart.py",
        truth: planted("passes", "always fails"),
      },
      interrupted: {
        command: "$PYTEST --junitxml=report.xml interrupted.py",
        truth: planted("passes"),
      },
      last_failed: {
        command:
          "again='/usr/bin/python3 -m pytest -q -p no:rerunfailures -p no:flaky test_again.py'; " +
          "$again --junitxml=junit.xml; $again --last-failed --junitxml=junit-rerun.xml",
        files: "junit*.xml",
        truth: { ...BASIC, ...planted("fails then passes") },
      },
      dist_each: {
        command: "$PYTEST -p no:rerunfailures -p no:flaky -n 2 --dist each " +
          "--junitxml=report.xml test_each.py",
        truth: {
          ...planted("passes", "always fails", "is skipped"),
          "passes on one worker": "flaky",
        },
      },
    },
  },
  pytest_rerunfailures: {
    project: "pytest",
    debian: ["python3-pytest", "python3-pytest-rerunfailures"],
    runs: {
      reruns: {
        command: "$PYTEST -p no:flaky --reruns 2 --junitxml=report.xml test_cart.py",
        truth: { ...WITH_RETRIES, ...HOOKS },
        hidden: {
          "fails then passes": BEFORE_16_7,
        },
      },
    },
  },
  pytest_flaky: {
    project: "pytest",
    debian: ["python3-pytest", "python3-flaky"],
    runs: {
      max_runs: {
        command: "$PYTEST -p no:rerunfailures --force-flaky --max-runs=3 " +
          "--junitxml=report.xml test_cart.py",
        truth: { ...WITH_RETRIES, ...HOOKS },
      },
    },
  },
  pytest_repeat: {
    project: "pytest",
    debian: ["python3-pytest", "python3-pytest-repeat"],
    runs: {
      count: {
        command: "$PYTEST -p no:rerunfailures -p no:flaky --count 2 --junitxml=report.xml " +
          "test_cart.py",
        truth: { ...BASIC, ...HOOKS, "passes then fails": "failing" },
      },
    },
  },
  pytest_xdist: {
    project: "pytest",
    debian: ["python3-pytest", "python3-pytest-xdist"],
    runs: {
      workers: {
        command: "$PYTEST -p no:rerunfailures -p no:flaky -n 2 --junitxml=report.xml test_cart.py",
        truth: { ...WITHOUT_RETRIES, "fails then passes": "failing", ...HOOKS },
      },
      crash: {
        command: "$PYTEST -p no:rerunfailures -p no:flaky -n 2 --junitxml=report.xml crash.py",
        truth: { ...planted("passes"), crashes: "failing" },
      },
    },
  },
  unittest: {
    debian: ["python3-xmlrunner"],
    runs: {
      classes: {
        command: "/usr/bin/python3 test_cart.py",
        files: "reports/*.xml",
        truth: { ...BASIC, "set up class": "failing", ...planted("errors in tear down") },
      },
    },
  },
  behave: {
    debian: ["python3-behave"],
    runs: {
      autoretry: {
        command: "behave --junit --tags=-skip",
        files: "reports/*.xml",
        truth: { ...BASIC, ...planted("fails then passes"), ...SAME_NAME },
        hidden: {
          "fails then passes": LAST_ATTEMPT_ONLY,
        },
      },
    },
  },
  nose2: {
    debian: ["python3-nose2"],
    runs: {
      classes: {
        command: "/usr/bin/python3 -m nose2 --plugin nose2.plugins.junitxml --junit-xml; " +
          "mv nose2-junit.xml report.xml",
        truth: { ...BASIC, ...HOOKS },
      },
    },
  },
};
