import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { splitNode } from "../../../lib/split/ci_nodes.ts";

const NONE = { nodes: undefined, index: undefined };

/** The variables of the second of four nodes. */
const SECOND_OF_FOUR: Record<string, Record<string, string>> = {
  CircleCI: { CIRCLECI: "true", CIRCLE_NODE_TOTAL: "4", CIRCLE_NODE_INDEX: "1" },
  "GitLab CI": { GITLAB_CI: "true", CI_NODE_TOTAL: "4", CI_NODE_INDEX: "2" },
  Buildkite: {
    BUILDKITE: "true",
    BUILDKITE_PARALLEL_JOB_COUNT: "4",
    BUILDKITE_PARALLEL_JOB: "1",
  },
  Semaphore: { SEMAPHORE: "true", SEMAPHORE_JOB_COUNT: "4", SEMAPHORE_JOB_INDEX: "2" },
  "Azure Pipelines": {
    TF_BUILD: "True",
    SYSTEM_TOTALJOBSINPHASE: "4",
    SYSTEM_JOBPOSITIONINPHASE: "2",
    SYSTEM_PARALLELEXECUTIONTYPE: "MultiMachine",
  },
  "Bitbucket Pipelines": {
    BITBUCKET_BUILD_NUMBER: "7",
    BITBUCKET_PARALLEL_STEP_COUNT: "4",
    BITBUCKET_PARALLEL_STEP: "1",
  },
  "Heroku CI": { HEROKU_TEST_RUN_ID: "x", CI_NODE_TOTAL: "4", CI_NODE_INDEX: "1" },
};

describe("the node of a job", () => {
  for (const [service, environment] of Object.entries(SECOND_OF_FOUR)) {
    it(`is taken from the variables of ${service}`, () => {
      assert.deepEqual(splitNode(NONE, environment), { nodeCount: 4, index: 1 });
    });
  }

  it("is that of the options", () => {
    const environment = SECOND_OF_FOUR.CircleCI!;
    const given = { nodes: 3, index: 0 };
    assert.deepEqual(splitNode(given, environment), { nodeCount: 3, index: 0 });
  });

  it("is the only one in a job that is not parallel", () => {
    const environment = { GITLAB_CI: "true", CI_NODE_TOTAL: "1" };
    assert.deepEqual(splitNode(NONE, environment), { nodeCount: 1, index: 0 });
  });

  it("is not guessed", () => {
    const refused: [Record<string, string>, RegExp][] = [
      [{}, /^unknown node: expected --nodes N --index I, counted from 0$/],
      [{ CI_NODE_TOTAL: "4", CI_NODE_INDEX: "1" }, /unknown node/],
      [{ GITHUB_ACTIONS: "true" }, /--nodes \$\{\{ strategy\.job-total \}\}/],
      [
        { ...SECOND_OF_FOUR["GitLab CI"], CI_JOB_NAME: "test: [node, 20]" },
        /CI_NODE_INDEX numbers all jobs of a matrix/,
      ],
      [
        {
          ...SECOND_OF_FOUR["Azure Pipelines"],
          SYSTEM_PARALLELEXECUTIONTYPE: "MultiConfiguration",
        },
        /SYSTEM_JOBPOSITIONINPHASE numbers all jobs of a matrix/,
      ],
      // They number all tasks of the build.
      [{ CIRRUS_CI: "true", CI_NODE_TOTAL: "4", CI_NODE_INDEX: "1" }, /unknown node/],
      [{ CIRCLECI: "true", CIRCLE_NODE_TOTAL: "4" }, /CIRCLE_NODE_INDEX is not set/],
      [
        { CIRCLECI: "true", CIRCLE_NODE_TOTAL: "4", CIRCLE_NODE_INDEX: "4" },
        /node 4 of 4 does not exist: expected an index from 0 to 3/,
      ],
      [
        { SEMAPHORE: "true", SEMAPHORE_JOB_COUNT: "4", SEMAPHORE_JOB_INDEX: "0" },
        /does not exist/,
      ],
    ];
    for (const [environment, message] of refused) {
      assert.throws(() => splitNode(NONE, environment), { name: "RangeError", message });
    }
    assert.throws(() => splitNode({ nodes: 4, index: 4 }, {}), /--index: node 4 of 4/);
    assert.throws(
      () => splitNode({ nodes: 5, index: undefined }, SECOND_OF_FOUR.CircleCI!),
      /--nodes 5, but CIRCLE_NODE_TOTAL is 4: expected --nodes N --index I, counted from 0/,
    );
  });
});
