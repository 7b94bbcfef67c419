// Tests: tests/lib/analysis/repetition/submissions_test.ts
/**
 * The fourth rule of repetition: set-up. A case that stands for a file, class or hook that failed is only
 * written when it fails. It passed wherever tests of its file or class ran and none of these cases stands.
 */
import type { TestIdentity } from "../../base/identity.ts";

// What tools call hooks, fixtures and files that did not load. A name that goes on like a sentence is a test's.
const HOOK = new RegExp(
  "^(?:" + [
    // Mocha, Cypress, Web Test Runner: in quotes behind the names of suites.
    /(?:.{0,500}[ :>›])?"(?:before|after) (?:each|all)" hook\b.*/,
    // node:test, Vitest.
    /(?:before|after)(?:Each|All) hook\b.*/,
    // JUnit, Gradle, Ant, TestNG's defaults.
    /initializationError|executionError|classMethod|@?(?:Before|After)(?:All|Each|Class)(?:[([:].*)?/,
    // unittest, nose2, pytest.
    /(?:set[Uu]p|tear[Dd]own|set_up|tear_down)(?:[ _]?(?:[Cc]lass|[Mm]odule|[Pp]ackage))(?: ?\(.*)?/,
    // NUnit, MSTest.
    /(?:OneTime(?:SetUp|TearDown)|(?:Class|Assembly)(?:Initialize|Cleanup))(?: ?[([:].*)?/,
    // Go, RSpec, Common Test.
    /TestMain|An error occurred (?:outside of examples|while loading )?.*|(?:init|end)_per_(?:suite|group|testcase)(?:[([:/].*)?/,
  ].map(({ source }) => source).join("|") + ")$",
  "s",
);
// The class of a file that did not load, in place of the class of its tests.
const NO_CLASS = /^(?:Test suite failed to run|.*_ErrorHolder)$/;
const PATH = /[\\/]|\.\w{1,5}$/;
// A class with its package, or a path.
const FULL_NAME = /[^.\\/:$][.\\/:$][^.\\/:$ ]/;

/** Whether a case stands for a file, a class or a hook. */
export function isSetUp(test: TestIdentity): boolean {
  const { class: className, name, file } = test;
  return NO_CLASS.test(className) || HOOK.test(name) || name === file && file !== "" ||
    // Class and name of a test may be equal by its tool's default, which a file's name then follows.
    name === className && file === "" && FULL_NAME.test(name) && !/\s/.test(name) ||
    isModule(test);
}

/**
 * Whether another shard that has the test repeats it: its file runs there as a whole. That tests of a set-up's file ran
 * in another shard says nothing about a set-up, because a file may be split.
 */
export function mayMoveToShard(test: TestIdentity): boolean {
  return test.file !== "" && !isSetUp(test);
}

/** Whether a case stands for a module that pytest could not collect. */
function isModule({ suite, class: className, name }: TestIdentity): boolean {
  return suite === "pytest" && className === "" && /^[\w.]+$/.test(name);
}

/**
 * What identifies the file of a test, its class where there is no file, or its suite where there is
 * neither. Of a set-up case it is what the case stands for.
 */
export function groupOf(test: TestIdentity): string {
  const { suite, class: className, name, file } = test;
  if (file !== "") return `file ${file}`;
  if (NO_CLASS.test(className)) return PATH.test(name) ? `file ${name}` : `suite ${suite}`;
  if (isModule(test)) return `class ${name}`;
  return className === "" ? `suite ${suite}` : `class ${className}`;
}

/** The groups whose set-up a test needs: its own, and in Python the modules that its class is in. */
export function groupsOf(test: TestIdentity): string[] {
  const own = groupOf(test);
  if (test.suite !== "pytest" || !own.startsWith("class ")) return [own];
  const parts = own.slice("class ".length).split(".");
  return parts.map((_, index) => `class ${parts.slice(0, index + 1).join(".")}`);
}
