import { defaultReporter } from "@web/test-runner";
import { chromeLauncher } from "@web/test-runner-chrome";
import { junitReporter } from "@web/test-runner-junit-reporter";

export default {
  files: "test/*.test.js",
  browsers: [
    chromeLauncher({
      launchOptions: { executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] },
    }),
  ],
  reporters: [defaultReporter(), junitReporter({ outputPath: "report.xml" })],
};
