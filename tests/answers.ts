/** All that the API says about an organization, found by following its own responses. */
import assert from "node:assert/strict";
import { pathTemplate } from "../tools/documentation/description.ts";
import { routes } from "../routes/mod.ts";
import { INCLUDES } from "./oracle/response_bodies.ts";

/** Bodies by path: JSON as a value, others as text. */
export type Answers = Record<string, unknown>;

/** Sends a GET with the organization's token. */
export type Get = (path: string) => Promise<Response>;

/** The queries of an operation; those without an entry are sent without parameters. */
const QUERIES: Record<string, readonly string[]> = {
  listSubmissions: ["?limit=7", "?branch=main,release/*"],
  listSubmissionTests: ["?limit=50&status=all", "?status=failed"],
  listDisruptiveTests: ["?limit=7", "?sort=recency&q=tags:nightly", "?branch=main"],
  listFlakyTests: ["true", "false"].map((quarantine) =>
    `?limit=9&quarantine=${quarantine}&include=${INCLUDES.join(",")}`
  ),
  listTestRuns: ["?limit=40"],
};

/**
 * The responses of every route of the API by path: JSON as a value, other bodies as text. A new route is
 * covered without a change here, unless it has required parameters.
 */
export async function everyAnswer(get: Get): Promise<Answers> {
  const answers: Answers = {};
  const send = async (path: string): Promise<unknown> => {
    const response = await get(path);
    const text = await response.text();
    assert.equal(response.status, 200, `GET ${path}: ${text} (add its parameters to QUERIES?)`);
    return answers[path] = response.headers.get("content-type")?.startsWith("application/json")
      ? JSON.parse(text)
      : text;
  };
  const repositories = (await send("/api/me/repositories") as {
    repositories: { id: string; full_name: string }[];
  }).repositories;
  const tests = new Set<string>();
  const folders = repositories.map(({ full_name }) => {
    const slash = full_name.lastIndexOf("/");
    return [full_name.slice(0, slash), full_name.slice(slash + 1)].map(encodeURIComponent)
      .join("/");
  });
  /** The path, and those of the pages after it. */
  const sendAll = async (path: string): Promise<void> => {
    const body = await send(path) as { metadata?: { after: string | null } };
    const collect = (value: unknown): void => {
      if (Array.isArray(value)) value.forEach(collect);
      else if (value !== null && typeof value === "object") {
        const { id, test_case_id } = value as Record<string, unknown>;
        if (typeof test_case_id === "string") tests.add(test_case_id);
        else if (typeof id === "string" && "suite" in value) tests.add(id);
        Object.values(value).forEach(collect);
      }
    };
    if (typeof body === "object") collect(body);
    const after = body.metadata?.after ?? null;
    if (after === null) return;
    const [base, query = ""] = path.split("?");
    const next = new URLSearchParams(query);
    next.set("after", after);
    await sendAll(`${base}?${next}`);
  };
  const api = routes.filter(({ tag }) => tag !== "Service");
  const ofTests = api.filter(({ path }) => path.includes("/tests/:id"));
  for (const { path, operationId } of api) {
    if (path.includes("/tests/:id")) continue;
    const queries = QUERIES[operationId] ?? [""];
    for (const folder of path.includes(":owner/:name") ? folders : [""]) {
      const inRepository = path.replace(":owner/:name", folder);
      for (const submission of path.includes(":id") ? await submissionsOf(get, folder) : [""]) {
        const full = inRepository.replace(":id", submission);
        if (operationId === "getVerdicts") {
          const known = await testsOf(get, folder);
          if (known.length > 0) await sendAll(`${full}?tests=${known.join(",")}&base=main`);
        } else if (operationId.endsWith("Badge")) {
          for (const { full_name } of repositories) {
            await sendAll(`${full}?repository=${encodeURIComponent(full_name)}`);
          }
        } else for (const query of queries) await sendAll(full + query);
      }
    }
  }
  for (const id of [...tests].sort()) {
    for (const { path, operationId } of ofTests) {
      for (const query of QUERIES[operationId] ?? [""]) {
        await sendAll(path.replace(":id", id) + query);
      }
    }
  }
  const seen = new Set(Object.keys(answers).map((path) => path.split("?")[0]!));
  for (const { path } of api) {
    const pattern = new RegExp(`^${pathTemplate(path).replaceAll(/\{\w+\}/g, "[^/]+")}$`);
    assert.ok([...seen].some((one) => pattern.test(one)), `no request to ${path}`);
  }
  return answers;
}

async function submissionsOf(get: Get, folder: string): Promise<string[]> {
  const body = await (await get(`/api/repos/${folder}/submissions?limit=100`)).json();
  return body.submissions.map(({ id }: { id: string }) => id);
}

/** The ids of the tests of its submissions of the window, at most as many as verdicts are given of. */
async function testsOf(get: Get, folder: string): Promise<string[]> {
  const ids = new Set<string>();
  for (const submission of await submissionsOf(get, folder)) {
    const path = `/api/repos/${folder}/submissions/${submission}/tests?limit=100`;
    const { tests } = await (await get(path)).json();
    for (const { test_case_id } of tests) ids.add(test_case_id.slice(-13));
  }
  return [...ids].sort().slice(0, 50);
}
