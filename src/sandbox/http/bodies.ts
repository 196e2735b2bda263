import { isExactNumber, parseExact } from '../../core/json.ts';
import { headerOf, Refusal, type SandboxRequest } from './messages.ts';

/** A JSON object body, ids of any length kept. @throws Refusal 400 when it is none. */
export function jsonBody({ body = '' }: SandboxRequest): Record<string, unknown> {
  let read: unknown;
  try {
    read = parseExact(typeof body === 'string' ? body : Buffer.from(body).toString());
  } catch {
    throw new Refusal(400, 'the body is not JSON');
  }
  if (!isObject(read)) throw new Refusal(400, 'the body must be a JSON object');
  return read;
}

/**
 * The fields of a multipart body, or of a JSON one (spec §4.1 says JSON, SERVICE-NOTES.md multipart). A field `name[]` is
 * listed under `name`; each has its values in order.
 * @throws Refusal 400 when the body can be read as neither.
 */
export async function fieldsOf(request: SandboxRequest): Promise<Map<string, string[]>> {
  const fields = new Map<string, string[]>();
  const add = (name: string, value: unknown) => {
    const key = name.replace(/\[\]$/, '');
    fields.set(key, [...(fields.get(key) ?? []), idText(value) ?? '']);
  };
  const type = headerOf(request, 'content-type') ?? '';
  if (type.startsWith('multipart/form-data')) {
    for (const [name, value] of await formOf(request, type)) add(name, value);
  } else {
    for (const [name, value] of Object.entries(jsonBody(request)))
      for (const part of [value].flat()) add(name, part);
  }
  return fields;
}

async function formOf({ body = '' }: SandboxRequest, type: string): Promise<Iterable<[string, unknown]>> {
  try {
    const bytes = typeof body === 'string' ? body : Buffer.from(body);
    return await new Response(bytes, { headers: { 'content-type': type } }).formData();
  } catch {
    throw new Refusal(400, 'the body is not multipart/form-data');
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}

/** Text, or a number with all its digits as text; undefined for anything else. */
export function idText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  return isExactNumber(value) ? value.rawJSON : undefined;
}
