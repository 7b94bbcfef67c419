/** Further tools for JavaScript, and what merges the reports of several. */
import {
  BASIC,
  HOOKS,
  LAST_ATTEMPT_ONLY,
  MERGED,
  planted,
  SAME_NAME,
  TO_BE_MERGED,
  type Tool,
  WITH_RETRIES,
} from "./tool.ts";

const SKIPPED_PASSES = "`pm.test.skip` is reported as passed";
const LAST_ASSERTION =
  "of assertions with one name, also in several iterations, only the last is " +
  "reported: give each a name, and each iteration a report of its own";

export const OTHER_JAVASCRIPT: Record<string, Tool> = {
  newman: {
    npm: ["newman"],
    runs: {
      once: {
        command: "node server.js & newman run shop.json -r junit " +
          "--reporter-junit-export report.xml; kill $!",
        truth: { ...BASIC, ...SAME_NAME, "fails in the first round": "failing" },
        hidden: { "is skipped": SKIPPED_PASSES, "same name fails first": LAST_ASSERTION },
      },
      iterations: {
        command: "node server.js & newman run shop.json -n 2 -r junit " +
          "--reporter-junit-export report.xml; kill $!",
        truth: { ...BASIC, ...SAME_NAME, "fails in the first round": "flaky" },
        hidden: {
          "is skipped": SKIPPED_PASSES,
          "same name fails first": LAST_ASSERTION,
          "fails in the first round": LAST_ASSERTION,
        },
      },
    },
  },
  hapi_lab: {
    npm: ["@hapi/lab"],
    runs: {
      retries: {
        command: "lab -r junit -o report.xml test/cart.js",
        truth: { ...WITH_RETRIES, ...SAME_NAME, ...HOOKS },
        hidden: {
          "fails then passes": LAST_ATTEMPT_ONLY,
          "errors in tear down":
            "errors in `afterEach` are in the totals only, so `gate` excuses nothing",
        },
      },
    },
  },
  tape: {
    npm: ["tape", "tap-xunit"],
    runs: {
      xunit: {
        command: "node cart.js | tap-xunit > report.xml",
        truth: { ...planted("passes", "always fails"), ...SAME_NAME },
      },
    },
  },
  web_test_runner: {
    npm: ["@web/test-runner", "@web/test-runner-junit-reporter"],
    debian: ["chromium"],
    runs: {
      retries: {
        command: "wtr",
        truth: {
          ...planted("passes", "always fails", "fails then passes", "is skipped"),
          ...SAME_NAME,
        },
        hidden: { "fails then passes": LAST_ATTEMPT_ONLY },
      },
    },
  },
  testem: {
    npm: ["testem", "qunit"],
    debian: ["chromium"],
    runs: {
      qunit: {
        command: "testem ci -R xunit > report.xml",
        truth: { ...BASIC, "is the same in two files": "failing" },
      },
    },
  },
  junit_report_merger: {
    project: "merged",
    npm: ["junit-report-merger"],
    runs: {
      vitest_and_pytest: { command: `jrm report.xml ${TO_BE_MERGED}`, truth: MERGED },
    },
  },
  junit_merge: {
    project: "merged",
    npm: ["junit-merge"],
    runs: {
      vitest_and_pytest: {
        command: `junit-merge -o report.xml ${TO_BE_MERGED}`,
        truth: MERGED,
      },
    },
  },
};
