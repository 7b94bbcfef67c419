// Tests: tests/lib/analysis/repetition/submissions_test.ts
/**
 * The fourth rule of repetition: set-up. A case that stands for a file, class or hook that failed is only
 * written when it fails. It passed wherever tests of its file or class ran and none of these cases stands.
 */
import type { TestIdentity } from "../../base/identity.ts";

// What tools call hooks, fixtures and files that did not load.
const HOOK = new RegExp(
  "^(?:" + [
    // Mocha, Cypress, Web Test Runner; node:test; Vitest.
    /(?:.{0,500}[ :>›])?"?(?:before|after)[ -]?(?:[Ee]ach|[Aa]ll)"? hook\b.*/,
    // JUnit, Gradle, Ant, TestNG's defaults.
    /initializationError|executionError|classMethod|@?(?:Before|After)(?:All|Each|Class)\b.*/,
    // unittest, nose2, pytest.
    /(?:set[Uu]p|tear[Dd]own|set_up|tear_down)(?:[ _]?(?:[Cc]lass|[Mm]odule|[Pp]ackage))\b.*/,
    // NUnit, MSTest.
    /(?:OneTime(?:SetUp|TearDown)|(?:Class|Assembly)(?:Initialize|Cleanup))\b.*/,
    // Go, RSpec, Common Test.
    /TestMain|An error occurred (?:outside of examples|while loading )?.*|(?:init|end)_per_(?:suite|group|testcase)\b.*/,
  ].map(({ source }) => source).join("|") + ")$",
  "s",
);
// The class of a file that did not load, in place of that of its tests.
const NO_CLASS = /^(?:Test suite failed to run|.*_ErrorHolder)$/;
const PATH = /[\\/]|\.\w{1,5}$/;

/** Whether a case stands for a file, a class or a hook. */
export function isSetUp({ suite, class: className, name, file }: TestIdentity): boolean {
  return NO_CLASS.test(className) || HOOK.test(name) || name === className ||
    name === file && file !== "" || name === suite && className === "" ||
    // A module that pytest could not collect.
    className === "" && file === "" && /^[\w.]+$/.test(name) && suite === "pytest";
}

/**
 * What identifies the file of a test, its class where there is no file, or its suite where there is
 * neither; `pathOf` a set-up case as well.
 */
export function groupOf(test: TestIdentity): string {
  const { suite, class: className, name, file } = test;
  if (file !== "") return `file ${file}`;
  if (NO_CLASS.test(className)) return PATH.test(name) ? `file ${name}` : `suite ${suite}`;
  return className === "" ? `suite ${suite}` : `class ${className}`;
}
