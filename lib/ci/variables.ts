// Tests: tests/lib/ci/ci_test.ts tests/lib/intake/pack_upload_test.ts
/**
 * What a client sends of a CI job: lines `NAME=value` of the variables that the table of services names,
 * of the checkout (`HEAD_...`), of a matrix and of the event that started a run of GitHub (`EVENT_...`).
 */
import type { Fact, Service } from "./services.ts";
import { SERVICES } from "./services.ts";

/** Variables by name. */
export type CiVariables = Readonly<Record<string, string | undefined>>;

/** The checkout: commit and tree of `HEAD`, the remote `origin`, and the root folder. */
const CHECKOUT_NAMES = ["HEAD_COMMIT", "HEAD_TREE", "HEAD_ORIGIN", "HEAD_FOLDER"] as const;

/** The values of the matrix that a job belongs to, as JSON. */
const MATRIX_NAME = "MATRIX";

/** Before the name of a value of GitHub's event: `pull_request.number` is EVENT_PULL_REQUEST_NUMBER. */
const EVENT_PREFIX = "EVENT_";

const NAME_IN_TEXT = /\$([A-Z][A-Z0-9_]*)/g;

/** The variables that a fact is made of. */
export function namesOfFact(fact: Fact): readonly string[] {
  if ("names" in fact) return fact.names;
  return fact.flatMap((text) => [...text.matchAll(NAME_IN_TEXT)].map(([, name = ""]) => name));
}

function namesOfService(service: Service): string[] {
  const { presence, title: _title, page: _page, ...facts } = service;
  const names = [
    ...presence.map((text) => text.replace(/=.*$/, "")),
    ...Object.values(facts).flatMap(namesOfFact),
  ];
  return [...new Set(names)].sort();
}

/** All names that may be sent; lines with others are dropped. */
export const CI_NAMES: readonly string[] = [
  ...new Set([...SERVICES.flatMap(namesOfService), ...CHECKOUT_NAMES, MATRIX_NAME]),
].sort();

const KNOWN = new Set(CI_NAMES);

/** A file of variables is smaller; more is not read. */
const MAX_CI_CHARACTERS = 64 * 1024;
const MAX_VALUE_CHARACTERS = 2_000;

/** Cuts user and password off the addresses in a text, up to the last @; the end of a text in JSON ends one. */
function withoutCredentials(text: string): string {
  return text.replaceAll(/([A-Za-z][A-Za-z0-9+.-]*:\/\/)[^/?#\s"]*@/g, "$1");
}

function cleanValue(text: string): string {
  return withoutCredentials(text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ").toWellFormed().trim())
    .slice(0, MAX_VALUE_CHARACTERS);
}

/** The known variables of an environment, without credentials and line breaks. */
export function knownVariables(environment: CiVariables): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of CI_NAMES) {
    const value = cleanValue(environment[name] ?? "");
    if (value !== "") found[name] = value;
  }
  return found;
}

/** Reads lines `NAME=value`; lines with unknown names are dropped. The first line of a repeated name counts. */
export function parseCi(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.slice(0, MAX_CI_CHARACTERS).split(/\r?\n/)) {
    const [, name = "", value = ""] = /^\s*([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? [];
    if (KNOWN.has(name) && !Object.hasOwn(found, name)) found[name] = value;
  }
  return knownVariables(found);
}

/** A fact that decides whether a run counts for the base branch. */
export type DecisiveFact = "queueBase" | "defaultBranch";

/** Lines without the variables that say some facts, and no other. */
export function withoutFacts(lines: string, facts: readonly DecisiveFact[]): string {
  const variables = parseCi(lines);
  for (const service of SERVICES) {
    for (const fact of facts) {
      const others = new Set(namesOfService({ ...service, [fact]: [] }));
      for (const name of namesOfFact(service[fact] ?? [])) {
        if (!others.has(name)) delete variables[name];
      }
    }
  }
  return formatCi(variables);
}

/** The lines that {@linkcode parseCi} reads. */
export function formatCi(variables: CiVariables): string {
  return Object.entries(knownVariables(variables)).map(([name, value]) => `${name}=${value}\n`)
    .join("");
}

/** The known values of an event of GitHub. Texts are written as JSON, as the script does. */
export function eventVariables(event: unknown): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (value: unknown, name: string) => {
    if (typeof value === "object" && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        visit(inner, `${name}_${key.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`);
      }
    } else if (KNOWN.has(name) && value !== null && value !== undefined) {
      found[name] = JSON.stringify(value);
    }
  };
  visit(event, EVENT_PREFIX.slice(0, -1));
  return found;
}
