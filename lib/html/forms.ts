// Tests: tests/tools/documentation/docs_page_test.ts tests/lib/http/sign_in/sign_in_test.ts
/** Fields of the forms that filter lists. */
import { type Markup, markup } from "./markup.ts";

/** A field of text, with what is wrong with its value. */
export function textField(
  { name, id = name, label, hint, value = "", errors }: {
    name: string;
    /** Where a page has several fields of the name. */
    id?: string;
    label: string;
    hint: string;
    value?: string | undefined;
    errors?: readonly string[] | undefined;
  },
): Markup {
  return markup`<div><label for="${id}">${label}</label><input id="${id}" name="${name}" value="${value}" placeholder="${hint}" autocomplete="off" spellcheck="false"${
    errors && isDescribedBy(id)
  }></div>${errors && ownErrors(id, errors)}`;
}

function isDescribedBy(name: string): Markup {
  return markup` aria-invalid="true" aria-describedby="${name}-error"`;
}

function ownErrors(name: string, errors: readonly string[]): Markup {
  return markup`<p class="error" id="${name}-error">${errors.join("; ")}</p>`;
}

/** What is wrong with parameters that have no field in a form. */
export function otherErrors(
  errors: Readonly<Record<string, readonly string[]>>,
  fields: readonly string[],
): Markup[] {
  return Object.entries(errors).filter(([name]) => !fields.includes(name))
    .map(([name, messages]) => markup`<p class="error">${name}: ${messages.join("; ")}</p>`);
}

/** Parameters that a form sends along: browsers drop the query of its address. */
export function hiddenFields(parameters: Readonly<Record<string, string>>): Markup[] {
  return Object.entries(parameters).map(([name, value]) =>
    markup`<input type="hidden" name="${name}" value="${value}">`
  );
}

/** A choice of some values, with the message for any other value. */
export function choiceField(
  { name, label, value, options, errors }: {
    name: string;
    label: string;
    value: string;
    options: readonly (readonly [value: string, text: string])[];
    errors?: readonly string[] | undefined;
  },
): Markup {
  const items = options.map(([one, text]) =>
    markup`<option value="${one}"${one === value && markup` selected`}>${text}</option>`
  );
  return markup`<div><label for="${name}">${label}</label><select id="${name}" name="${name}"${
    errors && isDescribedBy(name)
  }>${items}</select></div>${errors && ownErrors(name, errors)}`;
}
