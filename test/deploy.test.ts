import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MOST_BYTES } from '../src/query/reads/bounded.ts';

const root = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

// knip's YAML parser: only the tests need one.
const requireAsKnip = createRequire(join(root, 'node_modules/knip/package.json'));
const { parseAllDocuments } = requireAsKnip('yaml') as {
  parseAllDocuments(text: string, options: { schema: string }): { errors: Error[]; toJS(): unknown }[];
};

const files = readdirSync(join(root, 'deploy'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
const yamlFiles = files.filter((file) => file.endsWith('.yaml'));

interface Tree {
  readonly [name: string]: Tree;
}

function parse(file: string): Tree {
  const [document, ...others] = parseAllDocuments(read(file), { schema: 'yaml-1.1' });
  expect([...(document?.errors ?? []), ...others]).toEqual([]);
  return document?.toJS() as Tree;
}

const variables = new Set(
  Array.from(read('.env.example').matchAll(/^(?:# )?([A-Z][A-Z_]+)=/gm), ([, name]) => name),
);
const metrics = new Set(
  Array.from(read('docs/http.md').matchAll(/^\| `(inbox_mirror_\w+)`/gm), ([, name]) => name),
);

/** The metrics that a text names, without the suffixes of a histogram's series. */
function metricsNamedIn(text: string): string[] {
  return Array.from(text.matchAll(/\binbox_mirror_\w+/g), ([name]) =>
    name.replace(/_seconds_(bucket|sum|count)$/, '_seconds'),
  );
}

describe('deploy/', () => {
  test('has YAML files of one document each, and all parse', () => {
    expect(yamlFiles.length).toBeGreaterThan(7);
    for (const file of yamlFiles) expect(parse(file), file).toBeTypeOf('object');
  });

  test('has alerts and a dashboard that name only metrics of docs/http.md', () => {
    const asked = [
      'deploy/prometheus/alerts.yaml',
      'deploy/prometheus/alerts.test.yaml',
      'deploy/grafana/inbox-mirror.json',
    ];
    const named = asked.flatMap((file) => metricsNamedIn(read(file)));
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((name) => !metrics.has(name))).toEqual([]);
  });

  test('has a dashboard with every metric, from a data source that its reader chooses', () => {
    const text = read('deploy/grafana/inbox-mirror.json');
    const dashboard = JSON.parse(text) as { panels: { type: string; datasource?: unknown }[] };
    const panels = dashboard.panels.filter(({ type }) => type !== 'row');
    for (const { datasource } of panels)
      expect(datasource).toEqual({ type: 'prometheus', uid: '${datasource}' });
    const shown = new Set(metricsNamedIn(text));
    expect([...metrics].filter((name) => !shown.has(name ?? ''))).toEqual([]);
  });

  test('has alerts with a summary and a description, each proved to fire', () => {
    const groups = parse('deploy/prometheus/alerts.yaml')['groups'] as unknown as {
      rules: { alert: string; labels: object; annotations: object }[];
    }[];
    const proofs = read('deploy/prometheus/alerts.test.yaml');
    for (const { alert, labels, annotations } of groups.flatMap(({ rules }) => rules)) {
      expect(Object.keys(annotations), alert).toEqual(['summary', 'description']);
      expect(labels, alert).toMatchObject({
        severity: expect.stringMatching(/^(warning|critical)$/) as unknown,
      });
      expect(proofs).toContain(`alertname="${alert}"`);
    }
  });

  test('sets only variables of .env.example, and never the key itself', () => {
    const pod = parse('deploy/kubernetes/deployment.yaml')['spec']?.['template']?.['spec']?.[
      'containers'
    ]?.[0]?.['env'];
    const set = {
      compose: Object.keys(
        parse('deploy/compose/compose.yaml')['services']?.['inbox-mirror']?.['environment'] ?? {},
      ),
      configmap: Object.keys(parse('deploy/kubernetes/configmap.yaml')['data'] ?? {}),
      pod: (pod as unknown as { name: string }[]).map(({ name }) => name),
      unit: namesIn('deploy/systemd/inbox-mirror.service', /^Environment=(\w+)=/gm),
      file: namesIn('deploy/systemd/environment.example', /^(?:# )?([A-Z][A-Z_]+)=/gm),
      image: namesIn('deploy/docker/Dockerfile', /^(?:ENV| ) ([A-Z][A-Z_]+)=/gm),
    };
    for (const [place, names] of Object.entries(set)) {
      expect(names, place).not.toEqual([]);
      expect(
        // Read by SQLite and Node.js, not by the program.
        names.filter((name) => !variables.has(name) && !/^(SQLITE_TMPDIR|NODE_COMPILE_CACHE)$/.test(name)),
        place,
      ).toEqual([]);
      for (const secret of ['INBOX_API_KEY', 'HTTP_TOKEN']) expect(names, place).not.toContain(secret);
    }
    // The image listens on all addresses, where the daemon refuses to start without a token.
    expect(read('deploy/docker/Dockerfile')).toContain('HTTP_HOST=0.0.0.0');
    expect(set.compose).toContain('HTTP_TOKEN_FILE');
    expect(set.pod).toContain('HTTP_TOKEN_FILE');
  });

  test('has a shell function in the documents that gives commands the variables of the unit', () => {
    const [, body = ''] = /^im\(\) \{ (.*?)\}$/ms.exec(read('docs/deploy.md')) ?? [];
    const unit = read('deploy/systemd/inbox-mirror.service');
    const settings = Array.from(
      unit.matchAll(/^Environment=(\w+)=(\S+)$/gm),
      ([, name = '', value = '']) =>
        // systemd's %S, and %d with the credential, as the function's user reaches them.
        `${name}=${value.replace('%S', '/var/lib').replace('%d', '/etc/inbox-mirror')}`,
    );
    expect(settings).toHaveLength(2);
    for (const setting of settings) expect(body.split(/\s/)).toContain(setting);
    // The unit's file overrides INBOX_STATE_DIR, too.
    expect(body.indexOf('INBOX_STATE_DIR=')).toBeLessThan(body.indexOf('. /etc/inbox-mirror/environment'));
  });

  test('lets no question of the page Ask end the daemon by its memory or temporary files', () => {
    const service = parse('deploy/compose/compose.yaml')['services']?.['inbox-mirror'];
    expect(service?.['tmpfs']).toEqual(['/tmp:size=64m']);
    const pod = parse('deploy/kubernetes/deployment.yaml')['spec']?.['template']?.['spec'];
    const emptyDir = { medium: 'Memory', sizeLimit: '64Mi' };
    expect(pod?.['volumes']).toContainEqual({ name: 'tmp', emptyDir });
    const [, most] = /limits:\n +memory: (\d+)Mi/.exec(read('deploy/kubernetes/deployment.yaml')) ?? [];
    expect(Number(most)).toBeGreaterThan((2 * MOST_BYTES) / 1024 / 1024 + 200);
    expect(read('deploy/systemd/inbox-mirror.service')).toContain('\nOOMPolicy=continue\n');
    expect(read('deploy/docker/Dockerfile')).toContain('SQLITE_TMPDIR=/var/lib/inbox-mirror');
  });

  test('mounts the token where HTTP_TOKEN_FILE expects it', () => {
    const service = parse('deploy/compose/compose.yaml')['services']?.['inbox-mirror'];
    expect(service?.['secrets']).toContain('http-token');
    expect(service?.['environment']).toMatchObject({ HTTP_TOKEN_FILE: '/run/secrets/http-token' });
    const pod = parse('deploy/kubernetes/deployment.yaml')['spec']?.['template']?.['spec'];
    const container = pod?.['containers']?.[0];
    expect(container?.env).toContainEqual({
      name: 'HTTP_TOKEN_FILE',
      value: '/run/secrets/inbox-mirror-http/token',
    });
    const mount = { name: 'http-token', mountPath: '/run/secrets/inbox-mirror-http', readOnly: true };
    expect(container?.volumeMounts).toContainEqual(mount);
    expect(pod?.['volumes']).toContainEqual({
      name: 'http-token',
      secret: { secretName: 'inbox-mirror-http', defaultMode: 0o440 },
    });
  });

  test('has a network policy that lets only Prometheus and chosen pods reach the port', () => {
    expect(parse('deploy/kubernetes/kustomization.yaml')['resources']).toContain('networkpolicy.yaml');
    const labels = parse('deploy/kubernetes/deployment.yaml')['spec']?.['template']?.['metadata']?.['labels'];
    const { spec } = parse('deploy/kubernetes/networkpolicy.yaml');
    expect(spec).toMatchObject({ podSelector: { matchLabels: labels }, policyTypes: ['Ingress'] });
    const ingress = spec?.['ingress'] as unknown as { from: object[]; ports: object[] }[];
    expect(ingress).toHaveLength(1);
    expect(ingress[0]?.ports).toEqual([{ protocol: 'TCP', port: 'http' }]);
    expect(ingress[0]?.from).not.toEqual([]);
    for (const source of ingress[0]?.from ?? []) expect(source).toHaveProperty('podSelector.matchLabels');
  });

  test('has a scrape example in the documents that sends the token', () => {
    const [, example = ''] = /^(scrape_configs:\n[^]*?)^```/m.exec(read('docs/deploy.md')) ?? [];
    const [document] = parseAllDocuments(example, { schema: 'yaml-1.1' });
    expect(document?.toJS()).toMatchObject({
      scrape_configs: [{ authorization: { credentials_file: expect.any(String) as unknown } }],
    });
  });

  test('builds the image from files that .dockerignore lets in', () => {
    const [everything, ...allowed] = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(everything).toBe('*');
    const copied = Array.from(
      read('deploy/docker/Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm),
      ([, sources]) => sources,
    );
    for (const source of copied.join(' ').split(' ')) expect(allowed).toContain(`!${source.split('/')[0]}`);
  });
});

test('package, image and systemd copy all have the files that the program reads at run time', () => {
  const { files: parts } = JSON.parse(read('package.json')) as { files: string[] };
  const packed = parts.filter((path) => path.startsWith('prisma/'));
  expect(packed).toContain('prisma/views');
  const image = namesIn('deploy/docker/Dockerfile', /^COPY --from=build \/build\/(prisma\/\w+) /gm);
  const [, copied] = /^sudo cp -r (prisma.*) \S+$/m.exec(read('docs/deploy.md')) ?? [];
  expect(image).toEqual(packed);
  expect(copied?.split(' ')).toEqual(packed);
  // The cookbook's questions on the page Ask.
  expect(parts).toContain('docs');
  expect(read('deploy/docker/Dockerfile')).toMatch(/^COPY docs\/sql\.md docs\/sql\.md$/m);
  expect(read('docs/deploy.md')).toMatch(/^sudo cp docs\/sql\.md \/opt\/inbox-mirror\/docs\/$/m);
});

function namesIn(file: string, pattern: RegExp): string[] {
  return Array.from(read(file).matchAll(pattern), ([, name]) => name ?? '');
}
