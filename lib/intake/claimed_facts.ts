// Tests: tests/lib/intake/pack_upload_test.ts
/** The facts of an upload and of its identity token, which take precedence. */
import { claimedBranch, claimedBuildUrl, type ClaimedRun } from "../ci/claims.ts";
import { mergeQueueOf } from "../ci/merge_queue.ts";
import type { DecisiveFact } from "../ci/variables.ts";
import { excerpt } from "../report/report_error.ts";
import type { FoundFacts } from "./archive_facts.ts";

/** The facts that count. A note says where the client said something else. */
export function withClaims(
  facts: FoundFacts,
  run: ClaimedRun | undefined,
  onNote: (text: string) => void,
): FoundFacts {
  if (!run) return facts;
  const choose = (name: string, given: string, claimed: string) => {
    if (given !== "" && given !== claimed) {
      const taken = claimed === "" ? "none" : excerpt(claimed);
      onNote(`took the ${name} of the token, ${taken}, in place of ${excerpt(given)}`);
    }
    return claimed;
  };
  const { commit = facts.commitOid } = run;
  const isSameCode = commit.startsWith(facts.commitOid);
  const commitOid = isSameCode ? commit : choose("commit", facts.commitOid, commit);
  const given = facts.branch ?? "";
  const branch = choose("branch", given, claimedBranch(run, given));
  const isOfClient = (fact: DecisiveFact) => !run.notOfClient.includes(fact);
  return {
    ...facts,
    commitOid,
    // The tree belongs to its commit.
    treeOid: isSameCode ? facts.treeOid : null,
    branch: branch || null,
    queueBase: isOfClient("queueBase") ? facts.queueBase ?? "" : mergeQueueOf(branch).base,
    defaultBranch: isOfClient("defaultBranch") ? facts.defaultBranch ?? "" : "",
    workflow: facts.workflow || (run.workflow ?? ""),
    attempt: choose("attempt", facts.attempt, run.attempt ?? facts.attempt),
    buildUrl: choose("build URL", facts.buildUrl, claimedBuildUrl(run, facts.buildUrl)),
  };
}
