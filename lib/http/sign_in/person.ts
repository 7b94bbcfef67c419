// Tests: tests/lib/http/sign_in/sign_in_test.ts tests/lib/http/sign_in/hostile_provider_test.ts
/** Who a person is, by the claims of the provider. */
import { cutText, oneLine } from "../../base/text.ts";
import type { SignInSettings } from "./settings.ts";

/** Short enough for the label of a token. */
const MAX_NAME_CHARACTERS = 100;
const MAX_ORGANIZATION_CHARACTERS = 200;
const MAX_GROUPS = 10;

/** A person, as the provider describes them. */
export interface Person {
  /** The account at the provider. */
  sub: string;
  organization: string;
  name: string;
  /** Those that may act. */
  groups: string[];
}

/** The claims of a person: JSON of the provider. */
type Claims = Readonly<Record<string, unknown>>;

/** Claims that name a person, the best one first. */
const NAMES = ["preferred_username", "email", "name"];

/** Whether claims lack one that sign-in needs. */
export function lacksClaims(claims: Claims, { organization, editors }: SignInSettings): boolean {
  return "claim" in organization && claims[organization.claim] === undefined ||
    editors.groups.length > 0 && claims[editors.claim] === undefined ||
    NAMES.every((name) => claims[name] === undefined);
}

/** The organization of a person; `null` when the claims name none, or several. */
export function organizationOf(
  claims: Claims,
  { organization }: Pick<SignInSettings, "organization">,
): string | null {
  if ("name" in organization) return organization.name;
  const value = claims[organization.claim];
  const only = Array.isArray(value) && value.length === 1 ? value[0] : value;
  const isName = typeof only === "string" && only !== "" &&
    only.length <= MAX_ORGANIZATION_CHARACTERS;
  return isName ? only : null;
}

/** The groups of a person, of those that may act: so the cookie stays small. */
export function groupsOf(
  claims: Claims,
  { editors: { groups, claim } }: Pick<SignInSettings, "editors">,
): string[] {
  return [claims[claim]].flat().filter((group) => typeof group === "string")
    .filter((group) => groups.includes(group)).slice(0, MAX_GROUPS);
}

/** What the log calls a person. */
export function nameOf(claims: Claims): string {
  const known = [...NAMES, "sub"].map((name) => claims[name]);
  const names = known.map((value) =>
    typeof value === "string" ? oneLine(value.toWellFormed()).trim() : ""
  );
  return cutText(names.find((name) => name !== "") ?? "unnamed", MAX_NAME_CHARACTERS - 3);
}
