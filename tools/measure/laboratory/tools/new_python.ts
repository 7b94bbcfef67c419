/** Packages of Python newer than Debian's. */
import {
  BASIC,
  BEFORE_16_7,
  HOOKS,
  MERGED,
  planted,
  SAME_NAME,
  TO_BE_MERGED,
  type Tool,
  WITH_RETRIES,
  WITHOUT_RETRIES,
} from "./tool.ts";

const PYTEST = "$NEW_PYTHON -m pytest -q -p no:cacheprovider --junitxml=report.xml";

/** pytest-rerunfailures, with the tests whose attempts its version hides. */
function rerunFailures(hides?: Record<string, string>): Tool {
  const hidden = hides && { hidden: hides };
  const truth = { ...WITH_RETRIES, ...HOOKS };
  const options = "--reruns 2 test_cart.py";
  return {
    project: "pytest",
    python: ["pytest", "pytest-rerunfailures"],
    runs: {
      reruns: { command: `${PYTEST} -p pytest_rerunfailures ${options}`, truth, ...hidden },
      workers: {
        command: `${PYTEST} -p pytest_rerunfailures -p xdist.plugin -n 2 ${options}`,
        truth,
        ...hidden,
      },
    },
  };
}

export const NEW_PYTHON: Record<string, Tool> = {
  pytest_9: {
    project: "pytest",
    python: ["pytest", "pytest-xdist"],
    runs: {
      plain: {
        command: `${PYTEST} test_cart.py`,
        truth: { ...WITHOUT_RETRIES, "fails then passes": "failing", ...HOOKS },
      },
      maxfail: {
        command: `${PYTEST} --maxfail=1 test_cart.py`,
        truth: planted("passes", "always fails"),
      },
      interrupted: {
        command: `${PYTEST} interrupted.py`,
        truth: planted("passes"),
      },
      workers: {
        command: `${PYTEST} -p xdist.plugin -n 2 test_cart.py`,
        truth: { ...WITHOUT_RETRIES, "fails then passes": "failing", ...HOOKS },
      },
      dist_each: {
        command: `${PYTEST} -p xdist.plugin -n 2 --dist each test_each.py`,
        truth: { ...BASIC, "passes on one worker": "flaky" },
      },
      crash: {
        command: `${PYTEST} -p xdist.plugin -n 2 crash.py`,
        truth: { ...planted("passes"), crashes: "failing" },
      },
    },
  },
  pytest_flaky_3_8: {
    project: "pytest",
    python: ["pytest", "flaky"],
    runs: {
      max_runs: {
        command: `${PYTEST} -p flaky.flaky_pytest_plugin --force-flaky --max-runs=3 test_cart.py`,
        truth: { ...WITH_RETRIES, ...HOOKS },
      },
    },
  },
  pytest_rerunfailures_16_6: rerunFailures({ "fails then passes": BEFORE_16_7 }),
  pytest_rerunfailures_16_7: rerunFailures(),
  pytest_retry: {
    project: "pytest",
    python: ["pytest", "pytest-retry"],
    runs: {
      retries: {
        command: `${PYTEST} -p pytest_retry.retry_plugin --retries 2 test_cart.py`,
        truth: { ...WITH_RETRIES, ...HOOKS },
        hidden: {
          "fails then passes": "pytest-retry keeps the last attempt only: run " +
            "`pytest --last-failed` with a second report",
        },
      },
    },
  },
  pytest_repeat_0_9_4: {
    project: "pytest",
    python: ["pytest", "pytest-repeat"],
    runs: {
      count: {
        command: `${PYTEST} -p pytest_repeat --count 2 test_cart.py`,
        truth: { ...BASIC, ...HOOKS, "passes then fails": "failing" },
      },
    },
  },
  junitparser: {
    project: "merged",
    python: ["junitparser"],
    runs: {
      vitest_and_pytest: {
        command:
          "$NEW_PYTHON -c 'import sys; from junitparser import cli; cli.main(sys.argv[1:])' " +
          `merge ${TO_BE_MERGED} report.xml`,
        truth: MERGED,
        hidden: {
          "test cart test fails then passes":
            "merging the reports of pytest's plugins rewrites the " +
            "numbers by which repeated attempts are recognized: upload the reports as they are",
        },
      },
    },
  },
  nose2_0_16: {
    project: "nose2",
    python: ["nose2"],
    runs: {
      classes: {
        command: "$NEW_PYTHON -m nose2 --plugin nose2.plugins.junitxml --junit-xml; " +
          "mv nose2-junit.xml report.xml",
        truth: { ...BASIC, ...HOOKS },
      },
    },
  },
  unittest_4: {
    project: "unittest",
    python: ["unittest-xml-reporting"],
    runs: {
      classes: {
        command: "$NEW_PYTHON test_cart.py",
        files: "reports/*.xml",
        truth: { ...BASIC, "set up class": "failing", ...planted("errors in tear down") },
      },
    },
  },
  robot: {
    python: ["robotframework"],
    runs: {
      suite: {
        command: "$NEW_PYTHON -m robot --xunit report.xml cart.robot",
        truth: { ...BASIC, ...SAME_NAME, ...planted("errors in tear down") },
      },
    },
  },
};
