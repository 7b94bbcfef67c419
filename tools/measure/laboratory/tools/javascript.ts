/** Tools for JavaScript and TypeScript. */
import {
  BASIC,
  CTRF,
  HOOKS,
  LAST_ATTEMPT_ONLY,
  planted,
  SAME_NAME,
  type Tool,
  TWO_FILES,
  WITH_RETRIES,
  WITHOUT_RETRIES,
} from "./tool.ts";
import type { Truth } from "../verdicts.ts";

/** Where the report has paths, the same name in two files is two tests. */
const TWO_PATHS: Record<string, Truth> = {
  "same name in two files src order": "passing",
  "same name in two files src total": "failing",
};

const TWO_PROJECTS: Record<string, Truth> = {
  ...WITH_RETRIES,
  ...HOOKS,
  "one cart passes in one project": "passing",
  "two cart passes in one project": "failing",
};

export const JAVASCRIPT: Record<string, Tool> = {
  jest: {
    npm: ["jest", "jest-junit"],
    runs: {
      retries: {
        command: "jest --ci",
        truth: { ...WITH_RETRIES, ...SAME_NAME, ...TWO_FILES, ...HOOKS },
        hidden: {
          "fails then passes": CTRF,
        },
      },
      files: {
        command: "JEST_JUNIT_ADD_FILE_ATTRIBUTE=true jest --ci",
        truth: {
          ...WITH_RETRIES,
          ...SAME_NAME,
          ...TWO_PATHS,
          ...HOOKS,
        },
        hidden: {
          "fails then passes": CTRF,
        },
      },
      bail: {
        command: "JEST_JUNIT_ADD_FILE_ATTRIBUTE=true jest --ci --runInBand --bail",
        truth: { ...WITH_RETRIES },
        hidden: { "fails then passes": CTRF },
      },
      shards: {
        command: "export JEST_JUNIT_ADD_FILE_ATTRIBUTE=true; " +
          "for i in 1 2; do jest --ci --shard=$i/2; mv report.xml shard_$i.xml; done",
        files: "shard_*.xml",
        truth: {
          ...BASIC,
          ...SAME_NAME,
          ...HOOKS,
          ...TWO_PATHS,
        },
      },
    },
  },
  jest_again: {
    npm: ["jest", "jest-junit"],
    runs: {
      failed_files: {
        command: "export JEST_JUNIT_ADD_FILE_ATTRIBUTE=true; jest --ci; mv report.xml junit.xml; " +
          "jest --ci src/cart.test.js; mv report.xml junit-rerun.xml",
        files: "junit*.xml",
        truth: { ...BASIC, ...planted("fails then passes") },
      },
    },
  },
  jest_ctrf: {
    project: "jest",
    npm: ["jest", "jest-ctrf-json-reporter"],
    runs: {
      retries: {
        command: "jest --ci --reporters=jest-ctrf-json-reporter",
        files: "ctrf/ctrf-report.json",
        truth: {
          ...WITH_RETRIES,
          ...SAME_NAME,
          ...TWO_PATHS,
          ...HOOKS,
        },
      },
    },
  },
  vitest: {
    npm: ["vitest"],
    runs: {
      retries: {
        command: "vitest run --retry=2 --reporter=junit --outputFile=report.xml src",
        truth: { ...WITH_RETRIES, ...SAME_NAME, ...HOOKS },
        hidden: { "fails then passes": CTRF },
      },
      bail: {
        command: "vitest run --bail=1 --reporter=junit --outputFile=report.xml src",
        truth: {
          ...planted("passes", "always fails"),
          "fails then passes": "skipped",
          "passes then fails": "skipped",
          "same name": "skipped",
          "same name fails first": "skipped",
          "errors in set up": "skipped",
          "errors in tear down": "skipped",
        },
      },
      projects: {
        command: "vitest run --config vitest.projects.config.js --reporter=junit " +
          "--outputFile=report.xml",
        truth: { "passes in one project": "failing" },
      },
      shards: {
        command: "for i in 1 2; do vitest run --shard=$i/2 --reporter=junit " +
          "--outputFile=shard_$i.xml src; done",
        files: "shard_*.xml",
        truth: { ...BASIC, ...SAME_NAME, ...HOOKS },
      },
    },
  },
  vitest_ctrf: {
    project: "vitest",
    npm: ["vitest", "@d2t/vitest-ctrf-json-reporter"],
    runs: {
      retries: {
        command: "vitest run --retry=2 --reporter=@d2t/vitest-ctrf-json-reporter src",
        files: "ctrf/ctrf-report.json",
        truth: { ...WITH_RETRIES, ...SAME_NAME, ...HOOKS },
      },
    },
  },
  mocha: {
    npm: ["mocha@11", "mocha-junit-reporter"],
    runs: {
      retries: {
        command: "mocha --retries 2 --reporter mocha-junit-reporter " +
          "--reporter-options mochaFile=report.xml test",
        truth: {
          ...planted("passes", "always fails", "fails then passes", "passes then fails"),
          ...SAME_NAME,
          ...TWO_FILES,
          ...HOOKS,
        },
        hidden: {
          "fails then passes": CTRF,
        },
      },
      xunit: {
        command: "mocha --retries 2 --reporter xunit --reporter-options output=report.xml test",
        truth: { ...WITH_RETRIES, ...SAME_NAME, ...TWO_FILES, ...HOOKS },
        hidden: {
          "fails then passes": CTRF,
        },
      },
    },
  },
  mocha_ctrf: {
    project: "mocha",
    npm: ["mocha@11", "mocha-ctrf-json-reporter"],
    runs: {
      retries: {
        command: "mocha --retries 2 --reporter mocha-ctrf-json-reporter test",
        files: "ctrf/ctrf-report.json",
        truth: {
          ...WITH_RETRIES,
          ...SAME_NAME,
          "same name in two files test cart": "passing",
          "same name in two files test total": "failing",
          ...HOOKS,
        },
      },
    },
  },
  jasmine: {
    npm: ["jasmine", "jasmine-reporters"],
    runs: {
      suites: {
        command: "jasmine --random=false --helper=reporter.js 'spec/*.spec.js'",
        truth: { ...WITHOUT_RETRIES, ...TWO_FILES, ...HOOKS },
      },
      focus: {
        command: "jasmine --random=false --helper=reporter.js focus.spec.js",
        truth: { "is focused": "passing", "is left out": "skipped" },
        hidden: {
          "is left out":
            "`fit` and `--filter` report what did not run as passed: do not use them " +
            "where reports are uploaded",
        },
      },
    },
  },
  karma: {
    npm: ["karma", "karma-jasmine", "karma-junit-reporter", "karma-chrome-launcher"],
    debian: ["chromium"],
    runs: {
      chromium: {
        command: "karma start karma.conf.cjs",
        truth: { ...WITHOUT_RETRIES, ...TWO_FILES, ...planted("errors in set up") },
      },
    },
  },
  node_test: {
    runs: {
      suites: {
        command: "node --test --test-reporter=junit --test-reporter-destination=report.xml test/",
        truth: {
          ...WITHOUT_RETRIES,
          ...SAME_NAME,
          ...TWO_FILES,
          ...HOOKS,
          "cart total test is the same in two suites": "passing",
          "order total test is the same in two suites": "failing",
        },
      },
    },
  },
  bun_test: {
    npm: ["bun"],
    runs: {
      retries: {
        command: "bun test --reporter=junit --reporter-outfile=report.xml",
        truth: {
          ...WITH_RETRIES,
          ...SAME_NAME,
          ...HOOKS,
          "order test js same name in two files": "passing",
          "total test js same name in two files": "failing",
        },
        hidden: { "fails then passes": LAST_ATTEMPT_ONLY },
      },
      bail: {
        command: "bun test --bail=1 --reporter=junit --reporter-outfile=report.xml",
        truth: planted("passes", "always fails"),
      },
    },
  },
  deno_test: {
    npm: ["deno@2.9.6"],
    runs: {
      retries: {
        command: "deno test -A --retry=2 --junit-path=report.xml test",
        truth: { ...WITH_RETRIES, ...SAME_NAME, "a step that fails then passes": "flaky" },
        hidden: {
          "fails then passes": LAST_ATTEMPT_ONLY,
        },
      },
      fail_fast: {
        command: "deno test -A --fail-fast --junit-path=report.xml test/cart_test.ts",
        truth: { ...BASIC, "fails then passes": "skipped", "passes then fails": "skipped" },
      },
    },
  },
  playwright: {
    npm: ["@playwright/test"],
    runs: {
      retries: {
        command: "playwright test",
        truth: TWO_PROJECTS,
        hidden: {
          "fails then passes": "set `includeRetries` of the JUnit reporter, or upload CTRF",
        },
      },
      include_retries: {
        command: "RETRIES=1 playwright test",
        truth: TWO_PROJECTS,
      },
      max_failures: {
        command: "playwright test --project one --max-failures 1",
        truth: { ...planted("passes", "always fails") },
      },
      repeat_each: {
        command: "playwright test --repeat-each 2 --retries 0 --project one",
        truth: { ...BASIC, ...HOOKS, "passes then fails": "flaky" },
      },
      shards: {
        command: "for i in 1 2; do playwright test --project one --shard $i/2; " +
          "mv report.xml shard_$i.xml; done",
        files: "shard_*.xml",
        truth: { ...BASIC, ...HOOKS },
      },
    },
  },
  playwright_ctrf: {
    project: "playwright",
    npm: ["@playwright/test", "playwright-ctrf-json-reporter"],
    runs: {
      retries: {
        command: "playwright test --reporter=playwright-ctrf-json-reporter",
        files: "ctrf/ctrf-report.json",
        truth: TWO_PROJECTS,
      },
    },
  },
  cucumber_js: {
    npm: ["@cucumber/cucumber"],
    runs: {
      retries: {
        command: "cucumber-js --retry 1 --format junit:report.xml",
        truth: { ...planted("passes", "always fails", "fails then passes"), ...SAME_NAME },
        hidden: {
          "fails then passes": LAST_ATTEMPT_ONLY,
        },
      },
    },
  },
  tap: {
    npm: ["tap"],
    runs: {
      subtests: {
        command: "tap run --disable-coverage --allow-empty-coverage --reporter=junit " +
          "--reporter-file=report.xml test/cart.test.js",
        truth: { ...BASIC, ...SAME_NAME },
      },
    },
  },
};
