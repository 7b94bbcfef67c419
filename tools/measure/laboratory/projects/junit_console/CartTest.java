import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class CartTest {
  static int calls = 0;

  @Test void passes() {}

  @Test void alwaysFails() {
    assertEquals(1, 2);
  }

  @Test void passesThenFails() {
    assertEquals(1, ++calls);
  }

  @RepeatedTest(value = 2, name = "a row") void sameName(org.junit.jupiter.api.RepetitionInfo row) {
    assertEquals(1, row.getCurrentRepetition());
  }

  @RepeatedTest(value = 2, name = "a row")
  void sameNameFailsFirst(org.junit.jupiter.api.RepetitionInfo row) {
    assertEquals(2, row.getCurrentRepetition());
  }

  @Disabled @Test void isSkipped() {}

  @Nested class Storage {
    @BeforeEach void open() {
      throw new IllegalStateException("no storage");
    }

    @Test void errorsInSetUp() {}
  }

  @Nested class OpenStorage {
    @AfterEach void close() {
      throw new IllegalStateException("storage is still open");
    }

    @Test void errorsInTearDown() {}
  }
}
