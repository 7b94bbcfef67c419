// Tests: tests/routes/actions_test.ts
/** Shared code of what people who are signed in do. */
import * as v from "valibot";
import type { Origin } from "../../db/admin/changes.ts";
import { hiddenFields } from "../../lib/html/forms.ts";
import { type Markup, markup } from "../../lib/html/markup.ts";
import { timeZone } from "../../lib/http/request/parameters.ts";
import { parseValues } from "../../lib/http/request/parse_values.ts";
import type { ActionResult, Editor, Endpoint } from "../../lib/http/request/route.ts";
import { FORM_TOKEN } from "../../lib/http/sign_in/form_token.ts";

/** Declares what people who are signed in do at a path. */
export function defineAction(
  action: Required<Pick<Endpoint, "path" | "methods" | "act">> & Pick<Endpoint, "resource">,
): Endpoint {
  return {
    ...action,
    access: "token or basic",
    isPage: true,
    query: v.object({ tz: timeZone }),
    response: { status: 200, mediaType: "text/html; charset=utf-8" },
    handler: () => ({ body: "" }),
  };
}

/** The field that each form of a person has. */
export function formTokenField({ formToken }: Editor): Markup[] {
  return hiddenFields({ [FORM_TOKEN]: formToken });
}

/** Reads the fields of a form, all of which are optional: what is left out and what is empty is the same. */
export function readForm<Entries extends v.ObjectEntries>(
  form: URLSearchParams,
  schema: v.ObjectSchema<Entries, undefined>,
) {
  const fields = new URLSearchParams(form);
  fields.delete(FORM_TOKEN);
  return parseValues(schema, fields);
}

/** A page with a form as it was sent and what is wrong with it, and a link back. */
export function wrongFormPage(
  heading: Markup | string,
  { back, form }: { back: Markup; form: Markup },
): ActionResult {
  return {
    isWrong: true,
    page: {
      title: "Quarantine",
      content: markup`<h1>${heading}</h1>
<p>Nothing was changed. Correct the form, or go back to ${back}.</p>${form}`,
    },
  };
}

/** How the log of changes names a person, and what the person did. */
export function originOf({ name }: Editor, command: string): Origin {
  return { author: `${name} (signed in)`, command };
}
