// Tests: tests/routes/page_parameters_test.ts tests/routes/pages_test.ts
/** `/tests`: every test by its name, healthy ones too. */
import * as v from "valibot";
import { loadRepositoryDetails } from "../../db/read/repositories.ts";
import { type FoundTest, searchTests } from "../../db/read/search_tests.ts";
import { sayQuarantined } from "../../lib/analysis/quarantine.ts";
import { disruptivenessThousandths, type TrackedTest } from "../../lib/analysis/tracked_test.ts";
import { formatPercent } from "../../lib/badge/percentage.ts";
import { parseTestId } from "../../lib/base/identity.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { plural } from "../../lib/base/text.ts";
import { emptyState, label, table } from "../../lib/html/elements.ts";
import { hiddenFields, otherErrors, textField } from "../../lib/html/forms.ts";
import { type Content, type Markup, markup } from "../../lib/html/markup.ts";
import { keptParameters } from "../../lib/html/layout.ts";
import type { ParameterErrors } from "../../lib/http/request/errors.ts";
import * as parameters from "../../lib/http/request/parameters.ts";
import * as views from "../response_parts.ts";
import * as schemas from "../schemas.ts";
import { includedSchemas } from "../test_fields.ts";
import { definePage, downloadLinks, nothingUploaded, type PageRequest } from "./page.ts";
import { shownRange, turnPages } from "./paging.ts";

const LIMIT = 50;

const words = parameters.words(
  "Words that must all be in suite, class, name or file, case-insensitively; or the id of a test",
  "checkout",
);

const foundSchema = schemas.object("FoundTest", {
  ...schemas.test,
  repository: schemas.text("owner/name"),
  is_quarantined: schemas.described(v.boolean(), "Whether it is quarantined now"),
  disruptiveness_ratio: schemas.ratio,
  quarantine_environment: includedSchemas.quarantine_environment,
});

const BATCH_TESTS = 2_000;

export const testsPage = definePage({
  path: "/tests",
  resource: "repositories in query",
  list: {
    item: foundSchema,
    async *batches(read) {
      let last: FoundTest | null = null;
      do {
        const limit = BATCH_TESTS;
        const [{ tests }, tracked] = await read(
          async ({ query: { q: words }, load, loadTests }) => {
            const repositories = await load(loadRepositoryDetails, {});
            return await Promise.all([
              load(searchTests, { repositories, words, last, limit }),
              loadTests(),
            ]);
          },
        );
        const states = new Map(tracked.tests.map((test) => [test.id, test]));
        yield tests.map((test) => foundItem(test, states.get(test.id)));
        last = tests.length < limit ? null : tests.at(-1)!;
      } while (last !== null);
    },
  },
  query: {
    q: words,
    repository: parameters.repository,
    repository_id: parameters.repositoryId,
    after: parameters.offsetCursor,
  },
  showErrors: (errors, { parameters, pathTo }) => ({
    title: "Tests",
    content: markup`<h1>Tests</h1>${filters({ parameters, pathTo }, errors)}`,
  }),
  async show(page) {
    const { query: { q, after: offset }, pathTo, link } = page;
    const [only = ""] = q;
    const details = await page.load(loadRepositoryDetails, {});
    const id = q.length === 1 ? parseTestId(only) : null;
    if (id && details.some(({ idPrefix }) => idPrefix === id.idPrefix)) {
      return pathTo(["tests", only]);
    }
    const [{ count, tests }, tracked] = await Promise.all([
      page.load(searchTests, { repositories: details, words: q, offset, limit: LIMIT }),
      page.loadTests(),
    ]);
    const states = new Map(tracked.tests.map((test) => [test.id, test]));
    const rows = tests.map((test) => [
      link.test(test.id, test),
      link.repository(test.repository),
      flakinessOf(states.get(test.id), page),
    ]);
    const range = shownRange({ offset, count, shown: tests.length });
    return {
      title: "Tests",
      crumbs: [link.repositories],
      content: markup`<h1>Tests</h1>
${filters(page)}
${
        tests.length > 0
          ? markup`<p>${plural(count, "test")}${range}</p>
${table("Tests", ["Test|name", "Repository", "Flaky or quarantined|nowrap"], rows)}`
          : page.repositories.length === 0
          ? await nothingUploaded(page)
          : emptyState("No test matches. Remove a word of the search, or the repository.")
      }
${turnPages(page, { path: ["tests"], offset, limit: LIMIT, count })}
${tests.length > 0 && downloadLinks(["tests"], page)}`,
    };
  },
});

function filters(
  { parameters, pathTo }: Pick<PageRequest, "parameters" | "pathTo">,
  errors: ParameterErrors = {},
): Markup {
  const field = (name: string, label: string, hint: string) =>
    textField({ name, label, hint, value: parameters[name], errors: errors[name] });
  return markup`<form class="filters" action="${pathTo(["tests"])}" role="search">${
    otherErrors(errors, ["q", "repository"])
  }
${field("q", "Search", "words of name, suite, class or file")}
${field("repository", "Repository", "all, or owner/name")}
<button>Show</button>${hiddenFields(keptParameters(parameters))}</form>`;
}

function foundItem(
  test: FoundTest,
  state: TrackedTest | undefined,
): v.InferOutput<typeof foundSchema> {
  return {
    ...views.test(test),
    repository: formatRepositoryName(test.repository),
    is_quarantined: state !== undefined && state.quarantine !== null,
    disruptiveness_ratio: state ? views.ratio(state) : 0,
    quarantine_environment: state?.quarantine?.quarantineEnvironment ?? null,
  };
}

/** Whether a test is flaky or quarantined; nothing if it is neither. */
function flakinessOf(test: TrackedTest | undefined, { at }: PageRequest): Content {
  if (!test) return "";
  const share = test.disruptionCount > 0 &&
    markup`<small>${formatPercent(disruptivenessThousandths(test))} of its results</small>`;
  if (!test.quarantine) return [label("flaky"), share];
  const { quarantineEnvironment, quarantinedAt } = test.quarantine;
  return [
    label(sayQuarantined(quarantineEnvironment)),
    markup`<small>since ${at(quarantinedAt)}</small>`,
  ];
}
