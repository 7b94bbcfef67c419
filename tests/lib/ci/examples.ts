/** `fixtures/ci/`: a job of each service, with the variables that its documentation shows, and what they mean. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { CiJob } from "../../../lib/ci/mod.ts";
import type { CiVariables } from "../../../lib/ci/variables.ts";

const FOLDER = fileURLToPath(new URL("../../../fixtures/ci/", import.meta.url));

/** The commit that the jobs were started for. */
export const SHA = "0123456789abcdef0123456789abcdef01234567";

interface Example {
  variables: CiVariables;
  /** The facts that have to be equal whichever way an upload takes. */
  expected: Record<
    | "repository"
    | "branch"
    | "environment"
    | "job"
    | "workflow"
    | "shard"
    | "attempt"
    | "runner"
    | "buildUrl"
    | "repositoryUrl",
    string
  >;
  more?: { defaultBranch?: string; pullNumber?: string; pullTitle?: string; author?: string };
  /** Other jobs of the service: the variables that differ, `null` where one is not set. */
  cases?: {
    what: string;
    variables: Record<string, string | null>;
    expected: Partial<CiJob>;
  }[];
}

/** By service. @param commit that the jobs were started for */
export function examples(commit: string): Record<string, Example> {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith(".json")).map((name) =>
    readFileSync(FOLDER + name, "utf8")
  );
  return Object.fromEntries(files.map((text) => {
    const { service, ...example } = JSON.parse(text.replaceAll(SHA, commit));
    return [service, example];
  }));
}
