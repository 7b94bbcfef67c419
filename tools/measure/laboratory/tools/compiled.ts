/** Tools for Go, C, C++ and Erlang. */
import {
  BASIC,
  HOOKS,
  LAST_ATTEMPT_ONLY,
  planted,
  SAME_NAME,
  type Tool,
  WITH_RETRIES,
  WITHOUT_RETRIES,
} from "./tool.ts";
import type { Truth } from "../verdicts.ts";

const COUNTED: Record<string, Truth> = {
  ...WITH_RETRIES,
  "passes then fails": "flaky",
  ...planted("same name"),
};

const CRASHED: Record<string, Truth> = { ...planted("passes"), crashes: "failing" };

export const COMPILED: Record<string, Tool> = {
  gotestsum: {
    debian: ["golang-go", "gotestsum"],
    runs: {
      rerun_fails: {
        command: "gotestsum --rerun-fails=2 --packages=./cart --junitfile report.xml",
        truth: { ...WITH_RETRIES, ...planted("same name") },
      },
      count: {
        command: "gotestsum --junitfile report.xml -- -count=2 ./cart",
        truth: COUNTED,
      },
      panic: {
        command: "gotestsum --junitfile report.xml -- ./crash",
        truth: CRASHED,
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
        truth: { ...WITHOUT_RETRIES, "fails then passes": "failing", ...planted("same name") },
      },
      count: {
        command: "go test -json -count=2 ./cart > report.json",
        files: "report.json",
        truth: COUNTED,
      },
      panic: {
        command: "go test -json ./crash > report.json",
        files: "report.json",
        truth: CRASHED,
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
  meson: {
    debian: ["meson", "ninja-build", "gcc", "libc6-dev"],
    prepare: "meson setup build",
    runs: {
      once: {
        command: "meson test -C build",
        files: "build/meson-logs/testlog.junit.xml",
        truth: BASIC,
      },
    },
  },
};
