declare module 'drawing.css' {
  const text: string;
  export default text;
}

declare module 'glossary.json' {
  const definitions: Record<string, string>;
  export default definitions;
}
