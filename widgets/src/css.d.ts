declare module 'drawing.css' {
  const text: string;
  export default text;
}
