/** Tools for Ruby, PHP, Perl, Lua and shells. */
import { BASIC, HOOKS, planted, SAME_NAME, type Tool, WITH_RETRIES } from "./tool.ts";

const BATS = {
  retries: { command: "bats --report-formatter junit --output . cart.bats", truth: WITH_RETRIES },
};

export const SCRIPTS: Record<string, Tool> = {
  rspec: {
    debian: ["ruby-rspec", "ruby-rspec-junit-formatter", "ruby-rspec-retry"],
    runs: {
      retries: {
        command: "rspec --format RspecJunitFormatter --out report.xml cart_spec.rb",
        truth: { ...WITH_RETRIES, ...SAME_NAME, ...HOOKS },
        hidden: {
          "fails then passes":
            "rspec-retry keeps the last attempt only: run `rspec --only-failures` " +
            "with a second report",
        },
      },
      only_failures: {
        command: "again='rspec again_spec.rb --format RspecJunitFormatter'; " +
          "$again --out junit.xml; $again --only-failures --out junit-rerun.xml",
        files: "junit*.xml",
        truth: { ...BASIC, ...planted("fails then passes") },
      },
    },
  },
  minitest: {
    debian: ["ruby-minitest", "ruby-minitest-reporters"],
    runs: {
      classes: {
        command: "ruby cart_test.rb --seed 1",
        files: "reports/*.xml",
        truth: { ...BASIC, "same name in two classes": "failing", ...HOOKS },
      },
    },
  },
  cucumber: {
    debian: ["cucumber"],
    runs: {
      scenarios: {
        command: "cucumber --format junit --out .",
        files: "TEST-*.xml",
        truth: {
          ...planted("passes", "always fails"),
          "fails then passes": "failing",
          ...SAME_NAME,
        },
      },
    },
  },
  phpunit: {
    debian: ["phpunit"],
    runs: {
      classes: {
        command: "phpunit --log-junit report.xml .",
        truth: {
          ...BASIC,
          "data set 0": "passing",
          "data set 1": "failing",
          ...HOOKS,
        },
      },
    },
  },
  prove: {
    debian: ["libtap-formatter-junit-perl"],
    runs: {
      numbers: {
        command: "prove --formatter TAP::Formatter::JUnit cart.t > report.xml",
        truth: { ...planted("passes", "always fails"), ...SAME_NAME },
      },
    },
  },
  bats: {
    debian: ["bats"],
    runs: BATS,
  },
  bats_core: {
    project: "bats",
    npm: ["bats"],
    runs: BATS,
  },
  busted: {
    debian: ["lua-busted"],
    runs: {
      describes: {
        command: "busted -o junit > report.xml",
        truth: { ...BASIC, ...SAME_NAME, ...HOOKS },
        hidden: {
          "errors in set up": "errors in hooks are in the totals only, so `gate` excuses nothing",
          "errors in tear down":
            "errors in hooks are in the totals only, so `gate` excuses nothing",
        },
      },
    },
  },
  testthat: {
    debian: ["r-cran-testthat", "r-cran-xml2"],
    runs: {
      expectations: {
        command: 'Rscript -e \'testthat::test_dir("tests", stop_on_failure = FALSE, reporter = ' +
          'testthat::JunitReporter$new(file = file.path(getwd(), "report.xml")))\'',
        truth: { ...BASIC, ...SAME_NAME, "expects twice": "failing" },
      },
    },
  },
};
