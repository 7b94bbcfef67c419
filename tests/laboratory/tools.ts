/** The tools of the laboratory: how each is installed and run. */
import { PLANTED, type Run, type Truth } from "./verdicts.ts";

export interface Tool {
  /** Folder of the project in `projects/`; the tool's own name if missing. */
  project?: string;
  /** Packages of npm; their commands are first in the path. */
  npm?: string[];
  /** Packages of Debian. */
  debian?: string[];
  /** Shell commands that prepare a fresh copy of the project. */
  prepare?: string;
  runs: Record<string, ToolRun>;
}

interface ToolRun extends Omit<Run, "truth" | "files"> {
  /** Reports that the command writes; a pattern of the shell. */
  files?: string;
  /** What is true of the planted tests of the project. */
  truth: Record<string, Truth>;
}

/** Some of the planted tests. */
function planted(...names: (keyof typeof PLANTED)[]): Record<string, Truth> {
  return Object.fromEntries(names.map((name) => [name, PLANTED[name]]));
}

const HOOKS = planted("errors in set up", "errors in tear down");
const BASIC = planted("passes", "always fails", "is skipped");
const WITH_RETRIES = {
  ...BASIC,
  ...planted("fails then passes", "passes then fails"),
};
const WITHOUT_RETRIES = { ...BASIC, ...planted("passes then fails") };
const SAME_NAME = planted("same name");
const TWO_FILES = { "same name in two files": "failing" } as const;

const SECOND_REPORT = "turn retries off and run failed tests again with a report of their own";
const LAST_ATTEMPT_ONLY = `only the last attempt is reported: ${SECOND_REPORT}`;
const CTRF = `only the last attempt is reported: upload CTRF, or ${SECOND_REPORT}`;

function jars(...names: string[]): string {
  return names.map((name) => `/usr/share/java/${name}.jar`).join(":");
}

const TESTNG = `java -cp ${jars("testng", "jcommander", "bsh")}:. org.testng.TestNG`;
const JUPITER = "'/usr/share/java/*'";
// Debian's repository has the plugin and its providers.
const SUREFIRE = "mvn -q -o -Dmaven.repo.local=/usr/share/maven-repo " +
  "org.apache.maven.plugins:maven-surefire-plugin:2.22.3:test";

export const TOOLS: Record<string, Tool> = {
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
          "same name in two files src order": "passing",
          "same name in two files src total": "failing",
          ...HOOKS,
        },
        hidden: {
          "fails then passes": CTRF,
        },
      },
      shards: {
        command: "export JEST_JUNIT_ADD_FILE_ATTRIBUTE=true; " +
          "for i in 1 2; do jest --ci --shard=$i/2; mv report.xml shard_$i.xml; done",
        files: "shard_*.xml",
        truth: {
          ...BASIC,
          ...SAME_NAME,
          ...HOOKS,
          "same name in two files src order": "passing",
          "same name in two files src total": "failing",
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
        truth: {
          ...WITH_RETRIES,
          ...HOOKS,
          "one cart passes in one project": "passing",
          "two cart passes in one project": "failing",
        },
        hidden: {
          "fails then passes": "set `includeRetries` of the JUnit reporter, or upload CTRF",
        },
      },
      include_retries: {
        command: "RETRIES=1 playwright test",
        truth: {
          ...WITH_RETRIES,
          ...HOOKS,
          "one cart passes in one project": "passing",
          "two cart passes in one project": "failing",
        },
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
          "fails then passes": "versions before 16.6 keep the last attempt only: update, or run " +
            "`pytest --last-failed` with a second report",
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
  gotestsum: {
    debian: ["golang-go", "gotestsum"],
    runs: {
      rerun_fails: {
        command: "gotestsum --rerun-fails=2 --packages=./cart --junitfile report.xml",
        truth: { ...WITH_RETRIES, ...SAME_NAME },
      },
      count: {
        command: "gotestsum --junitfile report.xml -- -count=2 ./cart",
        truth: { ...WITH_RETRIES, "passes then fails": "flaky", ...SAME_NAME },
      },
      panic: {
        command: "gotestsum --junitfile report.xml -- ./crash",
        truth: { ...planted("passes"), crashes: "failing" },
      },
    },
  },
  bats: {
    debian: ["bats"],
    runs: {
      retries: {
        command: "bats --report-formatter junit --output . cart.bats",
        truth: WITH_RETRIES,
      },
    },
  },
  googletest: {
    debian: ["g++", "libgtest-dev"],
    prepare: "g++ -o cart_tests cart_test.cc -lgtest -lgtest_main -lpthread",
    runs: {
      once: {
        command: "./cart_tests --gtest_output=xml:report.xml",
        truth: {
          ...WITHOUT_RETRIES,
          "fails then passes": "failing",
          "is disabled": "skipped",
          ...HOOKS,
        },
      },
      repeat: {
        command: "./cart_tests --gtest_repeat=2 --gtest_output=xml:report.xml",
        truth: {
          ...BASIC,
          "fails then passes": "flaky",
          "passes then fails": "flaky",
          ...HOOKS,
        },
        hidden: {
          "fails then passes":
            "`--gtest_repeat` keeps the last round only: write a report for each",
          "passes then fails":
            "`--gtest_repeat` keeps the last round only: write a report for each",
        },
      },
    },
  },
  catch2: {
    debian: ["g++", "catch2"],
    prepare: "g++ -o cart_tests cart_test.cc",
    runs: {
      sections: {
        command: "./cart_tests -r junit -o report.xml",
        truth: {
          ...planted("passes", "always fails"),
          "same name in two sections one": "passing",
          "same name in two sections two": "failing",
        },
      },
    },
  },
  doctest: {
    debian: ["g++", "doctest-dev"],
    prepare: "g++ -o cart_tests cart_test.cc",
    runs: {
      once: {
        command: "./cart_tests -r=junit -o=report.xml",
        truth: { ...planted("passes", "always fails"), ...SAME_NAME },
      },
    },
  },
  ctest: {
    debian: ["cmake"],
    prepare: "cmake -B build .",
    runs: {
      until_pass: {
        command: "ctest --test-dir build --repeat until-pass:2 --output-junit $PWD/report.xml",
        truth: WITH_RETRIES,
        hidden: {
          "fails then passes": LAST_ATTEMPT_ONLY,
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
  eunit: {
    debian: ["erlang-eunit", "erlang-dev"],
    prepare: "erlc cart_tests.erl",
    runs: {
      modules: {
        command: "erl -noshell -eval 'eunit:test(cart_tests, " +
          '[{report,{eunit_surefire,[{dir,"."}]}}]), halt().\'',
        files: "TEST-*.xml",
        truth: {
          ...planted("passes", "always fails"),
          ...SAME_NAME,
          "fixture setup": "failing",
          "fixture cleanup": "failing",
          "times out": "failing",
        },
      },
    },
  },
  surefire: {
    debian: ["maven", "libsurefire-java", "junit4"],
    prepare: `mkdir -p target/test-classes; javac -d target/test-classes -cp ${
      jars("junit4")
    } *.java`,
    runs: {
      rerun: {
        command: `rm target/test-classes/Rows*; ${SUREFIRE} -Dsurefire.rerunFailingTestsCount=2`,
        files: "target/surefire-reports/*.xml",
        truth: { ...WITH_RETRIES, ...HOOKS },
      },
      parameters: {
        command: SUREFIRE,
        files: "target/surefire-reports/*.xml",
        truth: { ...WITHOUT_RETRIES, "fails then passes": "failing", ...SAME_NAME, ...HOOKS },
      },
    },
  },
  surefire_testng: {
    debian: ["maven", "libsurefire-java", "testng"],
    prepare: `mkdir -p target/test-classes; javac -d target/test-classes -cp ${
      jars("testng")
    } *.java`,
    runs: {
      retry_analyzer: {
        command: SUREFIRE,
        files: "target/surefire-reports/TEST-*.xml",
        truth: { ...planted("passes", "always fails", "fails then passes"), ...SAME_NAME },
        hidden: {
          "fails then passes":
            "an attempt that an `IRetryAnalyzer` repeats is reported as skipped: " +
            "use `rerunFailingTestsCount`",
        },
      },
    },
  },
  testng: {
    debian: ["testng"],
    prepare: `javac -cp ${jars("testng", "jcommander", "bsh")} *.java`,
    runs: {
      junit_reports: {
        command: `${TESTNG} -testclass CartTest`,
        files: "test-output/junitreports/*.xml",
        truth: {
          ...planted("passes", "always fails", "fails then passes", "passes then fails"),
          ...SAME_NAME,
        },
        hidden: {
          "fails then passes": "attempts are listed in any order, as rows of a data provider: " +
            SECOND_REPORT,
        },
      },
      suite: {
        command: `${TESTNG} -testclass CartTest`,
        files: "'test-output/Command line suite/Command line test.xml'",
        truth: {
          ...planted("passes", "always fails", "fails then passes", "passes then fails"),
          ...SAME_NAME,
        },
        hidden: {
          "fails then passes":
            "an attempt that an `IRetryAnalyzer` repeats is reported as skipped: " +
            SECOND_REPORT,
        },
      },
    },
  },
  junit_console: {
    debian: ["junit5"],
    prepare: `javac -cp ${JUPITER} *.java`,
    runs: {
      jupiter: {
        command: `java -cp ${JUPITER}:. org.junit.platform.console.ConsoleLauncher ` +
          "--select-class CartTest --details none --reports-dir .",
        files: "TEST-junit-jupiter.xml",
        truth: { ...WITHOUT_RETRIES, ...SAME_NAME, ...HOOKS },
      },
    },
  },
  bats_core: {
    project: "bats",
    npm: ["bats"],
    runs: {
      retries: {
        command: "bats --report-formatter junit --output . cart.bats",
        truth: WITH_RETRIES,
      },
    },
  },
  boost: {
    debian: ["g++", "libboost-test-dev"],
    prepare: "g++ -o cart_tests cart_test.cc",
    runs: {
      suites: {
        command: "./cart_tests --logger=JUNIT,all,report.xml",
        truth: { ...BASIC, ...HOOKS },
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
          "same name in two files src order": "passing",
          "same name in two files src total": "failing",
          ...HOOKS,
        },
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
  playwright_ctrf: {
    project: "playwright",
    npm: ["@playwright/test", "playwright-ctrf-json-reporter"],
    runs: {
      retries: {
        command: "playwright test --reporter=playwright-ctrf-json-reporter",
        files: "ctrf/ctrf-report.json",
        truth: {
          ...WITH_RETRIES,
          ...HOOKS,
          "one cart passes in one project": "passing",
          "two cart passes in one project": "failing",
        },
      },
    },
  },
  go_test_json: {
    project: "gotestsum",
    debian: ["golang-go"],
    runs: {
      once: {
        command: "go test -json ./cart > report.json",
        files: "report.json",
        truth: { ...WITHOUT_RETRIES, "fails then passes": "failing", ...SAME_NAME },
      },
      count: {
        command: "go test -json -count=2 ./cart > report.json",
        files: "report.json",
        truth: { ...WITH_RETRIES, "passes then fails": "flaky", ...SAME_NAME },
      },
      panic: {
        command: "go test -json ./crash > report.json",
        files: "report.json",
        truth: { ...planted("passes"), crashes: "failing" },
      },
    },
  },
};
