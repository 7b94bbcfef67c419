/** Fields of the forms that filter lists. */
import { type Markup, markup } from "./markup.ts";

/** A field of text, with what is wrong with its value. */
export function textField(
  { name, label, hint, value = "", errors }: {
    name: string;
    label: string;
    hint: string;
    value?: string | undefined;
    errors?: readonly string[] | undefined;
  },
): Markup {
  return markup`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${value}" placeholder="${hint}" autocomplete="off" spellcheck="false"${
    errors && markup` aria-invalid="true" aria-describedby="${name}-error"`
  }>${errors && markup`<p class="error" id="${name}-error">${errors.join("; ")}</p>`}</div>`;
}

/** Parameters that a form sends along: browsers drop the query of its address. */
export function hiddenFields(parameters: Readonly<Record<string, string>>): Markup[] {
  return Object.entries(parameters).map(([name, value]) =>
    markup`<input type="hidden" name="${name}" value="${value}">`
  );
}

/** A choice of some values. */
export function choiceField(
  { name, label, value, options }: {
    name: string;
    label: string;
    value: string;
    options: readonly (readonly [value: string, text: string])[];
  },
): Markup {
  const items = options.map(([one, text]) =>
    markup`<option value="${one}"${one === value && markup` selected`}>${text}</option>`
  );
  return markup`<div><label for="${name}">${label}</label><select id="${name}" name="${name}">${items}</select></div>`;
}
