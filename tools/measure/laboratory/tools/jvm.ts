/** Tools for the JVM. */
import {
  HOOKS,
  planted,
  SAME_NAME,
  SECOND_REPORT,
  type Tool,
  WITH_RETRIES,
  WITHOUT_RETRIES,
} from "./tool.ts";
import type { Truth } from "../verdicts.ts";

function jars(...names: string[]): string {
  return names.map((name) => `/usr/share/java/${name}.jar`).join(":");
}

const TESTNG = `java -cp ${jars("testng", "jcommander", "bsh")}:. org.testng.TestNG`;
const JUPITER = "'/usr/share/java/*'";
// Debian's repository has the plugin and its providers.
const SUREFIRE = "mvn -q -o -Dmaven.repo.local=/usr/share/maven-repo " +
  "org.apache.maven.plugins:maven-surefire-plugin:2.22.3:test";

const TESTNG_TRUTH: Record<string, Truth> = {
  ...planted("passes", "always fails", "fails then passes", "passes then fails"),
  ...SAME_NAME,
};

export const JVM: Record<string, Tool> = {
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
      crash: {
        // CartTest would follow.
        command: `${SUREFIRE} -Dsurefire.runOrder=reversealphabetical ` +
          "-Dtest=StorageTest,StockCrash,CartTest",
        files: "target/surefire-reports/*.xml",
        truth: planted("errors in set up"),
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
        truth: TESTNG_TRUTH,
        hidden: {
          "fails then passes": "attempts are listed in any order, as rows of a data provider: " +
            SECOND_REPORT,
        },
      },
      suite: {
        command: `${TESTNG} -testclass CartTest`,
        files: "'test-output/Command line suite/Command line test.xml'",
        truth: TESTNG_TRUTH,
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
};
