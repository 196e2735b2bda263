import { isExactNumber, isObject, parseExact } from '../../core/json.ts';
import { headerOf, Refusal, type SandboxRequest } from './messages.ts';

/**
 * Parses a JSON object body and keeps every digit of its ids.
 * @throws Refusal 400 if the body is not a JSON object
 */
export function readJsonBody({ body = '' }: SandboxRequest): Record<string, unknown> {
  let read: unknown;
  try {
    read = parseExact(typeof body === 'string' ? body : Buffer.from(body).toString());
  } catch {
    throw new Refusal(400, 'the body is not JSON');
  }
  if (!isObject(read)) throw new Refusal(400, 'the body must be a JSON object');
  return read;
}

/** The fields of a body by name, each with its values in order. */
export interface Fields {
  readonly texts: ReadonlyMap<string, string[]>;
  /** Only multipart bodies have files. */
  readonly files: ReadonlyMap<string, File[]>;
}

/**
 * Reads the fields of a multipart body or of a JSON body: spec §4.1 requires JSON, docs/service.md reports
 * multipart. A field `name[]` is listed under `name`.
 * @throws Refusal 400 if the body is neither
 */
export async function readFields(request: SandboxRequest): Promise<Fields> {
  const [texts, files] = [new Map<string, string[]>(), new Map<string, File[]>()];
  const add = (field: string, value: unknown) => {
    const name = field.replace(/\[\]$/, '');
    if (value instanceof File) files.set(name, [...(files.get(name) ?? []), value]);
    else texts.set(name, [...(texts.get(name) ?? []), idAsText(value) ?? '']);
  };
  const type = headerOf(request, 'content-type') ?? '';
  if (type.startsWith('multipart/form-data')) {
    for (const [name, value] of await readForm(request, type)) add(name, value);
  } else {
    for (const [name, value] of Object.entries(readJsonBody(request)))
      for (const part of [value].flat()) add(name, part);
  }
  return { texts, files };
}

async function readForm({ body = '' }: SandboxRequest, type: string): Promise<Iterable<[string, unknown]>> {
  try {
    const bytes = typeof body === 'string' ? body : Buffer.from(body);
    return await new Response(bytes, { headers: { 'content-type': type } }).formData();
  } catch {
    throw new Refusal(400, 'the body is not multipart/form-data');
  }
}

/** Returns text as it is and a number as text with all its digits; undefined for anything else. */
export function idAsText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  return isExactNumber(value) ? value.rawJSON : undefined;
}
