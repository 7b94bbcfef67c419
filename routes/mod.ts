/** The route table, from which the router, OpenAPI and the documentation are generated. */
import { type App, createDispatcher } from "../lib/http/request/dispatch.ts";
import type { Context } from "../lib/http/request/context.ts";
import type { Route } from "../lib/http/request/route.ts";
import { organizations, repositories } from "./account.ts";
import { coverageBadgeRoute, flakyBadge } from "./badges.ts";
import { repositoryFailures, testFailures } from "./failures.ts";
import { pages } from "./pages/mod.ts";
import { documentation, health, tokenCheck } from "./service.ts";
import { submissions, submissionTests } from "./submissions.ts";
import { disruptiveTests, flakyTests } from "./test_lists.ts";
import { testDetails, testResults, testRuns } from "./tests.ts";
import { verdicts } from "./verdicts.ts";

/** All routes, in the order of the documentation. */
export const routes: readonly Route[] = [
  health,
  tokenCheck,
  organizations,
  repositories,
  submissions,
  submissionTests,
  disruptiveTests,
  repositoryFailures,
  verdicts,
  testDetails,
  testResults,
  testRuns,
  testFailures,
  flakyTests,
  flakyBadge,
  coverageBadgeRoute,
  ...documentation(() => routes),
];

/** Creates the app that serves this API and the pages. */
export function createApp(context: Context): App {
  return createDispatcher([...routes, ...pages], context);
}
