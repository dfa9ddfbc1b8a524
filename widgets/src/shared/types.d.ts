import type { Markup } from './text.js';

/** What a widget needs of a model; anywidget's AnyModel and the page's own both have it. */
export interface Model {
  get(name: string): any;
  set(name: string, value: unknown): void;
  on(event: `change:${string}`, handler: () => void): void;
  off(event: `change:${string}`, handler: () => void): void;
  save_changes(): void;
}

/** The values that a trait may have. */
export type Field =
  | { kind: 'whole'; least: number; most: number }
  | { kind: 'number'; least: number; most: number }
  | { kind: 'one'; of: readonly (string | number)[] }
  | { kind: 'yes' };

interface Labelled {
  /** Name of the trait that the control moves. */
  name: string;
  label: string;
}

interface Option {
  value: string | number;
  text: string;
}

/** What is constant of a control. */
export interface GivenControl extends Labelled {
  kind: Control['kind'];
  stops?: readonly number[];
  wide?: boolean;
  options?: readonly Option[];
  last?: number;
}

/** What a state shows of a control: where it stays away, the value where no trait is called like it. */
export type Shown = { text?: string; value?: unknown; stops?: readonly number[]; options?: readonly Option[]; last?: number };

/** A slider over a list of stops, so that every position is a value that someone would say. */
export interface RangeControl extends Labelled {
  kind: 'range';
  stops: readonly number[];
  value: number;
  /** The value as it is shown and spoken. */
  text: string;
}

export interface SelectControl extends Labelled {
  kind: 'select';
  /** Its options are sentences. */
  wide?: boolean;
  value: string | number;
  options: readonly Option[];
}

/** A few short options side by side. */
export interface ChoiceControl extends Labelled {
  kind: 'choice';
  value: string | number;
  options: readonly Option[];
}

export interface CheckControl extends Labelled {
  kind: 'check';
  value: boolean;
}

/** Buttons and a slider over the steps of a run. */
export interface StepperControl extends Labelled {
  kind: 'stepper';
  value: number;
  last: number;
  text: string;
}

/** Which controls there are, with which options, stays the same as long as a widget is shown. */
export type Control = RangeControl | SelectControl | ChoiceControl | CheckControl | StepperControl;

export interface Canvas {
  /** Width of the drawing in CSS pixels. */
  width: number;
  /** Unique in the document: patterns and markers are found by id. */
  id: string;
  /** The step that the drawing may animate from: absent where nothing moves. */
  from?: number;
}

export interface Table {
  caption: string;
  head: readonly string[];
  rows: (string | number)[][];
}

/** One widget: everything in it is a pure function of its state. */
export interface Widget<S extends Record<string, any>> extends Given {
  /** What is constant of the widget. A page's script has none of it: it comes with the frame. */
  given: Given;
  /** From the traits to the state: picks, say, the recording that belongs to them. */
  derive?(traits: S): S;
  /** Beyond the fields: throws an Error that names the trait if the state is none that the controls or a kernel can make. */
  check?(state: S): void;
  /** What the state shows of its controls, by name; null where one stays away. */
  show?(state: S): Record<string, Shown | null>;
  /** Traits to set when a control moves; without it, the control's own. */
  change?(state: S, name: string, value: any): Partial<S>;
  draw(state: S, canvas: Canvas): Markup;
  /** What has changed, in a sentence or two. */
  say(state: S): string;
  /** Part of the run that the step is in: while it plays, only another part and the end are announced. */
  phase?(state: S): string;
  /** Every drawn number, or the steps of the run. */
  table(state: S): Table;
}

/** What is constant of a widget, and its sentences besides. */
export interface Given {
  name: string;
  /** Class of the root, which scopes the style. */
  className: string;
  /** What a screen reader calls the group of controls. */
  title: string;
  /** Key in the page's address. */
  addressKey: string;
  /** Traits that controls move, in the order of the address. */
  fields: Record<string, Field>;
  /** Further traits: recordings handed over by Python. */
  data?: readonly string[];
  controls: readonly GivenControl[];
}

/** What stands around a drawing and weighs on no page's script: node and the notebook's module have it. */
export interface Words<S extends Record<string, any>> {
  prompts: readonly string[];
  /** What an ordinary image of the drawing is called. */
  alt(state: S): string;
  /** The Python that makes the state, where the fields alone don't. */
  code?(state: S): string;
}
